"""Every public name of torch.fx that programs use is there, and the page says so."""

from __future__ import annotations

import pytest
import torch

from tools import conformance


@pytest.fixture(scope="module")
def rows() -> list[conformance.Row]:
    return conformance.rows()


def test_every_name_is_there_with_its_parameters_and_tested(
    rows: list[conformance.Row],
) -> None:
    assert [row for row in rows if not row.conforms] == []
    assert len(rows) > 400


def test_the_page_is_what_the_tool_writes(rows: list[conformance.Row]) -> None:
    written = conformance.PAGE.read_text(encoding="utf-8")
    version = torch.__version__.partition("+")[0]
    if f"of torch.fx {version} that" not in written:
        return  # it is about the torch that is installed by default

    assert written == conformance.page(rows), "python -m tools.conformance --write"


def test_what_is_left_out_is_not_there_by_another_way() -> None:
    for names in conformance.LEFT_OUT:
        for name in names.split(","):
            path = name.strip().replace(".", "/")
            engine = conformance.ROOT / "fxls" / "engine"
            assert not (engine / f"{path}.py").exists(), name
