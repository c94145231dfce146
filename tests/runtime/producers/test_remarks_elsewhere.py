"""Remarks of code that is installed, and of a file under two paths and two names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from fxls.record import Subject
from fxls.record.remark_wording import role_of, title_of
from fxls.record.remarks import SourceRemark
from tests.runtime.producers.recording import loaded, quoted, recorded

any_torch: Any = torch

pytestmark = pytest.mark.slow

LIBRARY = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, **more):
        return x * 2 + more["rows"][0].sum()
"""
PROGRAM = """\
import torch
from library_of_a_test import Net

fast = torch.compile(Net(), backend="eager")


def train():
    for n in (2, 3):
        fast(torch.ones(n, 2), rows=[torch.ones(4)])
    fast(torch.ones(2, 2), rows=[torch.ones(5)])
"""


def recompilations(remarks: list[SourceRemark]) -> list[SourceRemark]:
    return [one for one in remarks if one.subject is Subject.RECOMPILATION]


def test_a_library_that_is_compiled_again_is_a_remark_where_the_program_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "library_of_a_test.py").write_text(LIBRARY, "utf-8")
    monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, "utf-8")
    with recorded(tmp_path / ".fxls") as remarks:
        loaded(path).train()
    monkeypatch.delitem(sys.modules, "library_of_a_test")

    first, second = recompilations(remarks)
    call = "fast(torch.ones({}, 2), rows=[torch.ones({})])"
    assert (quoted(first.place), quoted(second.place)) == (
        call.format("n", 4),
        call.format(2, 5),
    )
    assert title_of(first) == "Recompiled because of x: size 0, which was 2, then 3"
    assert title_of(second) == (
        "Recompiled because of more['rows'][0]: size 0, which was 4, then 5"
    )
    # The parameter of the library is the first note.
    inside = [(quoted(one.frames[0]), role_of(one.frames[0], one)) for one in remarks]
    assert inside == [("x", "it is read here"), ("more", "it is read here")]
    assert role_of(first.frames[1], first) == "called here, in train"


SOURCE = """\
def step(x):
    print("in step")
    return x * 2
"""


def test_a_file_under_two_paths_and_two_names_has_a_remark_for_each_of_its_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "step_of_a_test.py"
    real.write_text(SOURCE, "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["link", *sys.path])
    with recorded(tmp_path / ".fxls") as remarks:
        for module in (
            loaded(real),
            loaded(Path("real", "..", "real") / real.name),
            importlib.import_module("step_of_a_test"),
        ):
            any_torch.compile(module.step, backend="eager")(torch.ones(2))
    monkeypatch.delitem(sys.modules, "step_of_a_test")
    capfd.readouterr()
    breaks = [one for one in remarks if one.subject is Subject.BREAK]
    assert {quoted(one.place) for one in breaks} == {'print("in step")'}
    files = {Path(one.place.place.path).resolve() for one in breaks if one.place}
    assert files == {real.resolve()}


LOGGED = """\
import logging

log = logging.getLogger("of_a_test")
log.propagate = False
log.addHandler(logging.NullHandler())
log.setLevel(logging.INFO)


def step(x):
    y = x + 1
    log.info("mean %s", y)
    return y * 2
"""


def test_a_message_that_is_logged_is_one_break_whatever_logging_does(
    tmp_path: Path,
) -> None:
    # Torch compiles each function of `logging` that the tensor is given to.
    path = tmp_path / "logged.py"
    path.write_text(LOGGED, "utf-8")
    with recorded(tmp_path / ".fxls") as remarks:
        step = any_torch.compile(loaded(path).step, backend="eager")
        for size in (2, 3):
            step(torch.ones(size))

    of_line = [one for one in remarks if one.place and "log" in one.place.line]
    first, *others = of_line
    assert (first.subject, quoted(first.place)) == (
        Subject.BREAK,
        'log.info("mean %s", y)',
    )
    assert len(first.inside) >= 4
    # Behind the break, for the tensor that was computed ahead of it.
    assert [title_of(one) for one in others] == [
        "Recompiled because of y: size 0, which was 2, then 3"
    ]
