"""Tries repairs as the worker does, in this process."""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import torch

from fxls.entry import Entry, Kind, Producer
from fxls.wire import Failed, Problem, Tried, Try
from fxls.worker.limits import MemoryLimit
from fxls.worker.repair import RepairAttempt

__all__ = ["as_before", "changed_lines", "tried"]


@contextlib.contextmanager
def as_before() -> Generator[None]:
    """What repairs set in torch, and what a trial changes in Python, is put back."""
    config: Any = torch._dynamo.config  # pyright: ignore[reportPrivateUsage]  # there is no other name
    names = ("capture_scalar_outputs", "capture_dynamic_output_shape_ops")
    kept = {name: getattr(config, name) for name in names}
    known, path = frozenset(sys.modules), [*sys.path]
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(config, name, value)
        config.reorderable_logging_functions.clear()
        config.ignore_logging_functions.clear()
        sys.path[:] = path
        for name in [one for one in sys.modules if one not in known]:
            if one_of_a_test(name):
                del sys.modules[name]


def one_of_a_test(name: str) -> bool:
    return name.startswith("repaired_")


def tried(
    path: Path, call: str, text: str, producer: Producer | None = None
) -> Tried | Failed:
    """What the worker says of a file with another text.

    Each trial is of a copy, because torch knows one module of a name in a process.
    """
    number = len([*path.parent.glob(f"{path.stem}_*.py")])
    one = path.with_name(f"{path.stem}_{number}.py")
    one.write_text(path.read_text("utf-8"), "utf-8")
    entry = Entry(str(one), call, Kind.COMMENT, None, producer)
    request = Try(1, entry, str(one), text, 60.0)
    with as_before():
        outcome = RepairAttempt(request, MemoryLimit(None), lambda _: None).outcome()
    if isinstance(outcome, Failed):
        return msgspec.structs.replace(outcome, sources=())
    problems = tuple(
        _of_original(each, str(one), str(path)) for each in outcome.problems
    )
    return msgspec.structs.replace(outcome, sources=(), problems=problems)


def _of_original(problem: Problem, copy: str, path: str) -> Problem:
    place = problem.place
    if place is None or place.path != copy:
        return problem
    there = msgspec.structs.replace(place, path=path)
    return msgspec.structs.replace(problem, place=there)


def changed_lines(before: str, after: str) -> list[str]:
    """The lines that are taken away and added, without those that are empty."""
    found = difflib.ndiff(before.split("\n"), after.split("\n"))
    return [line for line in found if line[0] in "+-" and line[2:].strip()]
