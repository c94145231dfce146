"""What the server shall keep to: its start, its answers, its memory, each as one figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.server_answers import Answers, Memory, Share, answers
from benchmarks.server_start import IMPORT, MOST, NOTHING, SERVE, Start, starts

__all__ = ["Figure", "figures"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing beside its bound, both in `unit`."""

    what: str
    median: float
    worst: float
    """What one in a hundred exceeds; the median again where there is one value."""
    bound: float
    unit: str
    cpu: float = math.nan
    """The CPU time for one; of the server, and for traces of its worker as well."""

    def is_above(self) -> bool:
        """Whether it is more than its bound: the CPU time, where that is known."""
        return (self.worst if math.isnan(self.cpu) else self.cpu) > self.bound


def figures(traces: int, *, is_quick: bool) -> Iterator[Figure]:
    """All of them, as they are measured; the last after so many saves of a model."""
    yield from _of_starts(starts(3 if is_quick else 15))
    for found in answers(nodes=10_000 if is_quick else 100_000, saves=traces):
        match found:
            case Memory():
                yield _of_memory(found)
            case Share(what, times, bound):
                yield Figure(what, times, times, bound, "times")
            case Answers():
                yield _of_answers(found)


def _of_starts(found: dict[str, Start]) -> Iterator[Figure]:
    start, base, nothing = found[SERVE], found[IMPORT], found[NOTHING]
    ratio, memory = start.cpu / base.cpu, start.memory
    wall, least = start.wall * 1e3, nothing.wall * 1e3
    yield Figure(NOTHING, least, least, math.inf, "ms", nothing.cpu * 1e3)
    yield Figure(SERVE, wall, wall, 250, "ms", start.cpu * 1e3)
    yield Figure(f"its CPU time by that of `{IMPORT}`", ratio, ratio, MOST, "times")
    yield Figure("its memory then", memory, memory, 60, "MiB")


def _of_answers(found: Answers) -> Figure:
    ordered = sorted(found.times)
    worst = ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)]
    return Figure(
        found.what,
        statistics.median(ordered) * 1e3,
        worst * 1e3,
        found.bound * 1e3,
        "ms",
        found.cpu * 1e3,
    )


def _of_memory(found: Memory) -> Figure:
    grown = found.after - found.before
    return Figure(f"memory gained by {found.what}", grown, grown, _FLAT, "MiB")


_FLAT = 10
"""What caches may come to hold."""
