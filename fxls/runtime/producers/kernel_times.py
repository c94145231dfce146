"""How long each line of inductor's code takes: of all calls behind the first one.

A trace function sees the lines of the function that calls the kernels, and of no other,
so what a line calls is in its time, and nothing is left over. Python has one trace
function for each thread; where a debugger has it, nothing is measured.
"""

from __future__ import annotations

import functools
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
        self._all: list[_Measured] = []
        self._lock = threading.Lock()

    def measured(
        self, call: Callable[..., Any], code: CodeType, revision: RevisionName
    ) -> Callable[..., Any]:
        """The same function, whose calls are measured."""
        one = _Measured(code, revision)
        with self._lock:
            self._all.append(one)

        def measuring(*args: Any) -> Any:
            if sys.gettrace() is not None:
                return call(*args)
            return one.run(call, args)

        return functools.update_wrapper(measuring, call)

    def told(self) -> list[Spent]:
        """What was measured since this was asked last."""
        with self._lock:
            return [spent for one in self._all if (spent := one.told()) is not None]


class _Measured:
    """The time of one function by its lines."""

    def __init__(self, code: CodeType, revision: RevisionName) -> None:
        self._code = code
        self._revision = revision
        self._is_warm = False
        self._calls = self._nanoseconds = 0
        self._lines: dict[int, int] = defaultdict(int)
        self._lock = threading.Lock()

    def run(self, call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Call it, and note the time of each line."""
        lines: dict[int, int] = defaultdict(int)
        last, since = 0, 0

        def entered(frame: FrameType, _event: str, _argument: object) -> Any:
            nonlocal since
            if frame.f_code is not self._code or since:
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

        sys.settrace(entered)
        try:
            return call(*args)
        finally:
            sys.settrace(None)
            self._add(lines)

    def _add(self, lines: dict[int, int]) -> None:
        with self._lock:
            if not self._is_warm:
                self._is_warm = True  # the first call loads what the others find
                return
            self._calls += 1
            self._nanoseconds += sum(lines.values())
            for line, took in lines.items():
                self._lines[line] += took

    def told(self) -> Spent | None:
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
