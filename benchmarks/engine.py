"""The engine against ``torch.fx``, in turns, in one process."""

from __future__ import annotations

import gc
import platform
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch

from benchmarks import limits, report
from benchmarks.cases import Case, cases, is_quick
from benchmarks.floors import FLOORS, Floor
from benchmarks.made_once import forget_models
from benchmarks.measure import Comparison, compare
from benchmarks.packages import OURS, THEIRS

__all__ = ["Row", "chosen_cases", "compared", "machine", "measured_limits"]

DEEP = 4000
"""The recursion limit while models 200 deep are traced."""


class Row(NamedTuple):
    """A case and what came of it."""

    case: Case
    result: Comparison


def chosen_cases(words: str, *, only_quick: bool) -> list[Case]:
    """The cases whose name has these words in it."""
    return [
        case
        for case in cases()
        if words in f"{case.operation}: {case.on}"
        and (is_quick(case) or not only_quick)
    ]


def ready() -> None:
    """Make the process one in which times can be compared."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    sys.setrecursionlimit(DEEP)
    warnings.simplefilter("ignore")
    gc.collect()
    gc.freeze()


def compared(
    chosen: Iterable[Case], pairs: int, *, floors: bool = False
) -> Iterator[Row]:
    """Measure cases, each when the row of the one before it was taken."""
    ready()
    for case in chosen:
        yield _row(case, pairs, FLOORS.get(case.operation) if floors else None)


def _row(case: Case, pairs: int, least: Floor | None) -> Row:
    forget_models()
    floor = None
    if least is not None:
        floor = least.prepare(case.on)
        gc.freeze()  # as what was there at the start: the engines' graphs come later
    return Row(
        case,
        compare(
            case.prepare(THEIRS),
            case.prepare(OURS),
            pairs=max(2, pairs // case.cost),
            repeats=case.repeats,
            floor=floor,
        ),
    )


def measured_limits(*, quickly: bool) -> report.Limits:
    """What stands below the table."""
    sizes = (1_000, 10_000) if quickly else (1_000, 10_000, 100_000)
    return report.Limits(
        bytes_per_node=(limits.bytes_per_node(THEIRS), limits.bytes_per_node(OURS)),
        deepest=(limits.deepest(THEIRS), limits.deepest(OURS)),
        import_seconds=limits.import_seconds(2 if quickly else 6),
        collector_shares=limits.collector_shares(OURS, 2 if quickly else 5),
        sizes=sizes,
        growth=limits.growths(OURS, sizes, 2 if quickly else 3),
    )


def machine() -> str:
    """What the numbers are of."""
    return (
        f"torch {torch.__version__.partition('+')[0]},"
        f" {platform.python_implementation()} {platform.python_version()},"
        f" {platform.machine()}"
    )
