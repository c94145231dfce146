"""A torch that lacks what a comparison hooks into: one part of it is off, and says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fxls.runtime.hooks import Hook
from fxls.runtime.installation import built
from fxls.runtime.numbers.keeping import Keeping
from fxls.runtime.record.run_head import ThisRun
from fxls.store import Store
from tests.runtime.producers.test_other_torch import (
    FEWER,
    TORCHS_WARNINGS,
    Torch,
    compiled,
    lowered,
    passed,
    said,
    torch_,
)

__all__ = ["torch_"]

PROGRAMS: Mapping[str, Callable[[], list[float]]] = {
    "OutputGraph.call_user_compiler": compiled,
    "_compile_fx_inner": lowered,
    "aot_stage2_compile": compiled,
    "boxed_nop": compiled,
    "GraphLowering.run": lowered,
    "GraphLowering.compile_to_module": lowered,
    "maybe_handle_decomp": passed,
}
"""What a comparison replaces in torch, and a program that comes there."""


def rows(folder: Path, keeping: Keeping | None = None) -> tuple[Hook, ...]:
    return built(Store(folder), ThisRun(), keeping_numbers=keeping).hooks.rows


def test_every_hook_of_a_comparison_is_tried(tmp_path: Path) -> None:
    others = len(rows(tmp_path))
    added = rows(tmp_path, Keeping(0))[others:]
    assert [name for hook in added for name in hook.replacements] == list(PROGRAMS)


@TORCHS_WARNINGS
@pytest.mark.slow
@pytest.mark.parametrize("how", ["has no", "has another"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_part_of_a_comparison_is_off_and_says_so(
    name: str,
    how: str,
    torch_: Torch,  # the fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FXLS_COMPARE", f"{os.getpid()}:{1 << 30}")
    monkeypatch.setenv("FXLS_RECORD", "1")
    program = PROGRAMS[name]
    hooks = [one for one in rows(tmp_path, Keeping(0)) if name in one.replacements]
    whole = torch_.run(program)
    assert whole.said == []
    if how == "has no":
        seen, known = torch_.without(name, program), f"{name}_of_yore"
    else:
        seen = torch_.calling(name, program, to="*, everything")
        known = f"{name}(*, everything)"
    assert seen.results == whole.results
    assert sorted(seen.said) == sorted(
        said(f"{how} {hook.module}.{known}", hook) for hook in hooks
    )
    assert whole.listings - seen.listings <= FEWER.get(name, set())
