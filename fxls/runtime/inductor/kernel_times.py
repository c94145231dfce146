"""How long each line of inductor's code takes: of all calls behind the first one.

A trace function sees the lines of the function that calls the kernels, and of no other,
so what a line calls is in its time, and nothing is left over. Python has one trace
function for each thread; where a debugger has it, nothing is measured.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from fxls.record import RevisionName, Spent

__all__ = ["KernelTimes"]

_MOST_LINES = 2_000
"""So many lines of a listing are told, those that took longest."""


class KernelTimes:
    """Of the listings whose code is to be measured."""

    def __init__(self) -> None:
        self._all: dict[RevisionName, _Measured] = {}
        self._lock = threading.Lock()

    def measured(
        self, call: Callable[..., Any], code: CodeType, revision: RevisionName
    ) -> Callable[..., Any]:
        """The same function, whose calls are measured; a listing may have several."""
        with self._lock:
            one = self._all.setdefault(revision, _Measured(revision))
        numbers = itertools.count()

        def measuring(*args: Any) -> Any:
            if _is_traced():
                return call(*args)
            lines: dict[int, int] = defaultdict(int)
            is_first = next(numbers) == 0  # which loads what the others find
            trace = _trace(code, lines)
            sys.settrace(trace)
            try:
                return call(*args)
            finally:
                # A debugger that came meanwhile goes on, and the rest was not seen.
                if sys.gettrace() is trace:
                    sys.settrace(None)
                    if not is_first:
                        one.add(lines)

        return functools.update_wrapper(measuring, call)

    def told(self) -> list[Spent]:
        """What was measured since this was asked last."""
        with self._lock:
            measured = [*self._all.values()]
        return [spent for one in measured if (spent := one.told()) is not None]


class _Measured:
    """The time of one listing by its lines."""

    def __init__(self, revision: RevisionName) -> None:
        self._revision = revision
        self._calls = self._nanoseconds = 0
        self._lines: dict[int, int] = defaultdict(int)
        self._lock = threading.Lock()

    def add(self, lines: dict[int, int]) -> None:
        """Add the time of one call."""
        with self._lock:
            self._calls += 1
            self._nanoseconds += sum(lines.values())
            for line, took in lines.items():
                self._lines[line] += took

    def told(self) -> Spent | None:
        """All of it, once."""
        with self._lock:
            if not self._calls:
                return None
            found = sorted(self._lines.items(), key=lambda one: -one[1])[:_MOST_LINES]
            told = Spent(
                self._revision,
                self._calls,
                self._nanoseconds / 1e9,
                tuple((line - 1, took / 1e9) for line, took in sorted(found)),
            )
            self._calls = self._nanoseconds = 0
            self._lines.clear()
            return told


def _trace(code: CodeType, lines: dict[int, int]) -> Callable[..., Any]:
    """A trace function that adds to each line what it takes in the next call of code."""
    last, since = 0, 0

    def entered(frame: FrameType, _event: str, _argument: object) -> Any:
        nonlocal since
        if frame.f_code is not code or since:
            return None  # what a line calls is in the time of the line
        since = time.perf_counter_ns()
        return reached

    def reached(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal last, since
        now = time.perf_counter_ns()
        if last:
            lines[last] += now - since
        last = frame.f_lineno if event == "line" else 0
        since = time.perf_counter_ns()
        return reached

    return entered


def _is_traced() -> bool:
    """Whether somebody traces this thread, or a debugger stops it without tracing."""
    monitoring: Any = getattr(sys, "monitoring", None)
    return sys.gettrace() is not None or (
        monitoring is not None
        and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None
    )
