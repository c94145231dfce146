"""How long each node of a graph takes: the least of a few runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

__all__ = ["least_of", "now"]

_RUNS = 20
_SECONDS = 1.0
"""For all runs but the first: somebody waits."""


def now() -> int:
    """Nanoseconds, when everything that was given to a GPU is done."""
    if torch.cuda.is_initialized():  # pyright: ignore[reportUnknownMemberType]  # torch's gap
        torch.cuda.synchronize()
    return time.perf_counter_ns()


def least_of(first: Sequence[int], run: Callable[[], Sequence[int]]) -> tuple[int, ...]:
    """The least time of each node in a first run, and in as many as there is time for.

    What a first run does once (to find a kernel, to ask for memory) is in no other, and
    whatever else the machine does makes a time longer, never shorter.
    """
    least = tuple(first)
    spent = longest = sum(first) / 1e9
    end = spent + _SECONDS
    for _ in range(_RUNS):
        if spent + longest > end:
            break
        times = run()
        took = sum(times) / 1e9
        spent, longest = spent + took, max(longest, took)
        least = tuple(map(min, least, times))
    return least
