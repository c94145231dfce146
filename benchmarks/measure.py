"""Comparing two ways to do the same, in turns, in one process.

- What counts is the ratio of the two times of a pair, taken right behind one another:
  whatever else the machine does hits both. The result is the median of many pairs.
- CPU time, because the machine may be busy.
- The collector is on, and has just collected, at the start of every timing. What exists
  before the first one (the modules of torch) is frozen: it would be walked by every
  full collection, of whichever side happens to cause it.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Comparison", "Prepare", "compare", "exponent", "seconds"]

Prepare: TypeAlias = Callable[[], Callable[[], Any]]
"""Makes ready what one timing needs, and returns what is timed: called once."""

SHORTEST = 0.004
"""What is shorter is repeated within one timing."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The times of two sides, in seconds for one call, and how they compare."""

    theirs: float
    ours: float
    ratio: float
    """The median of theirs divided by ours, pair by pair."""
    low: float
    high: float
    """The quartiles of the ratios."""
    pairs: int
    floor: float | None
    """The time of the least that could do the same, where that is measured."""
    limit: float | None
    """The median of theirs divided by the floor: what no ratio exceeds."""


def compare(
    theirs: Prepare,
    ours: Prepare,
    *,
    pairs: int,
    repeats: bool,
    floor: Prepare | None = None,
) -> Comparison:
    """Time both in turns; `repeats` says that what is timed may be called again.

    A floor is timed behind both, in every turn.
    """
    their_loops = _loops(theirs) if repeats else 1
    our_loops = _loops(ours) if repeats else 1
    floor_loops = 1 if floor is None else _loops(floor)
    floors: list[tuple[float, float]] = []
    times: list[tuple[float, float]] = []
    for turn in range(pairs + 1):
        # Each side goes first in every other pair.
        if turn % 2:
            ours_took = seconds(ours(), our_loops)
            theirs_took = seconds(theirs(), their_loops)
        else:
            theirs_took = seconds(theirs(), their_loops)
            ours_took = seconds(ours(), our_loops)
        if turn:  # the first pair fills the caches
            times.append((theirs_took, ours_took))
            if floor is not None:
                floors.append((theirs_took, seconds(floor(), floor_loops)))
    ratios = [theirs_took / ours_took for theirs_took, ours_took in times]
    low, middle, high = _quartiles(ratios)
    return Comparison(
        statistics.median(one for one, _ in times),
        statistics.median(one for _, one in times),
        middle,
        low,
        high,
        pairs,
        statistics.median(took for _, took in floors) if floors else None,
        statistics.median(one / took for one, took in floors) if floors else None,
    )


def seconds(run: Callable[[], Any], loops: int = 1) -> float:
    """The CPU time of one call."""
    gc.collect()
    began = time.process_time()
    for _ in range(loops):
        run()
    return (time.process_time() - began) / loops


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """How time grows with size: the slope of the line through their logarithms."""
    line = statistics.linear_regression(
        [math.log(one) for one in sizes], [math.log(one) for one in times]
    )
    return line.slope


def _loops(prepare: Prepare) -> int:
    run = prepare()
    took = seconds(run)
    if took < SHORTEST:  # the first call may have made what all share
        took = seconds(run)
    return max(1, min(10_000, math.ceil(SHORTEST / max(took, 1e-7))))


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high
