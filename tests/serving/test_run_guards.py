"""The guards of runs as documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxls.record import Compilation, Guard, Guards, Outcome
from fxls.serving.run_guards import RunGuards
from fxls.store import StoreError, files
from fxls.store.runs import record_path
from tests.support.records import FIRST, SECOND, written


def unwanted(error: StoreError) -> None:
    pytest.fail(str(error))


def test_who_asks_for_the_uri_and_then_for_the_document_reads_the_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = Compilation("0/0", "f", Outcome.OK)
    written(tmp_path, FIRST, compiled, Guards("0/0", 1, (Guard("SIZE", "x > 2"),)))
    written(tmp_path, SECOND, compiled)
    path = record_path(tmp_path, FIRST)
    starts: list[int] = []
    original = files.read_from

    def noting(root: Path, of: Path, start: int, most: int) -> tuple[int, bytes]:
        if of == path:
            starts.append(start)
        return original(root, of, start, most)

    monkeypatch.setattr(files, "read_from", noting)
    guards = RunGuards(unwanted, {})
    uri = guards.newest_uri([tmp_path], "0/0")
    assert uri is not None
    assert uri == f"fxls:/runs/{FIRST}/0-0/guards.txt"
    sheet = guards.sheet([tmp_path], uri)
    assert sheet is not None
    assert sheet.text == (
        f"The guards of run {FIRST}.\n"
        "A compilation is used again as long as all of its guards hold.\n\n"
        "0/0  f: 1 guard\n"
        "  x > 2\n"
        "      SIZE\n"
    )
    # Each time the head, and then what is behind what was read before.
    assert starts == [0, 0, 0, path.stat().st_size]


def test_no_document_is_there_for_what_no_run_has(tmp_path: Path) -> None:
    written(tmp_path, FIRST, Compilation("0/0", "f", Outcome.OK))
    guards = RunGuards(unwanted, {})
    assert guards.newest_uri([tmp_path], "") is None
    for run in (FIRST, SECOND, "..", ""):
        uri = f"fxls:/runs/{run}/guards.txt"
        assert guards.sheet([tmp_path, tmp_path / "other"], uri) is None
