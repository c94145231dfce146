"""How long each line of inductor's code takes: of the calls behind the first one.

A trace function sees the lines of the function that calls the kernels, and of no other,
so what a line calls is in its time, and nothing is left over. Python has one trace
function for each thread; where a debugger has it, nothing is measured.

To look at lines takes time as well. So half of the calls have a clock around them instead,
and nothing in them: that is what the lines together should be. Two calls with the same
sizes are a pair, of which one is looked into, so that both halves have the same work
to do. Which of the two follows no period, because a program may have one.
"""

from __future__ import annotations

import functools
import itertools
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, cast

from fxls.record import RevisionName, Spent
from fxls.runtime.inductor.device_clock import DeviceClock, Marking, Marks, clock_of

__all__ = ["KernelTimes"]

_MOST_LINES = 2_000
"""So many lines of a listing are told, those that took longest."""

_SEED = 152
"""Such that of three calls with the same sizes two are looked into, not one, and that
calls of up to six kinds in turns are looked into alike from the beginning."""

_MOST_SIZES = 10_000
"""Of so many sizes it is known which call of a pair came last."""

_NO_CODE = (
    "inductor wrote no code that can be measured\n"
    "help: It writes some for a function that is compiled by torch.compile with the "
    "default backend and is called; with `cpp_wrapper` there is none in Python."
)
_TRACED = (
    "a debugger or another tool traced every call\n"
    "help: Run the program without that tool."
)
_ONCE = (
    "no code that inductor wrote ran twice, and the first call is not measured, "
    "because it loads the kernels\n"
    "help: Call the compiled function at least twice, with inputs of the same kind."
)
_CAPTURED = (
    "a CUDA graph ran the kernels, and the code that calls them did not run\n"
    'help: Call torch.compile without `mode="reduce-overhead"` to measure them.'
)
_NOT_MEASURED = (
    "{}\nhelp: Nothing of that is known; a profiler of that device knows more."
)


class KernelTimes:
    """Of the listings whose code is to be measured."""

    def __init__(self) -> None:
        self._all: dict[RevisionName, _Measured] = {}
        self._lock = threading.Lock()

    @property
    def has_code(self) -> bool:
        """Whether there is any."""
        return bool(self._all)

    def measured(
        self,
        call: Callable[..., Any],
        code: CodeType,
        revision: RevisionName,
        compiled: Any = None,
    ) -> Callable[..., Any]:
        """The same function, whose calls are measured; a listing may have several.

        `compiled` is what inductor knows of the code, and among it for which devices it is.
        """
        with self._lock:
            one = self._all.setdefault(revision, _Measured(revision))
        numbers, halves = itertools.count(), _Halves()
        clock, one.why_not = clock_of(compiled)
        if one.why_not:
            return call
        if clock is not None:
            one.clocks.append(clock)

        def measuring(*args: Any) -> Any:
            if _is_traced():
                one.is_traced = True
                return call(*args)
            if clock is not None and (one.is_captured or clock.is_capturing()):
                one.is_captured = True
                return call(*args)
            number = next(numbers)
            if number == 0:
                return call(*args)  # which loads what the others find
            if clock is not None:
                looks = halves.is_looked_into(_sizes(args))
                return _on_device(call, args, code if looks else None, clock, one)
            if not halves.is_looked_into(_sizes(args)):
                since = time.perf_counter_ns()
                try:
                    return call(*args)
                finally:
                    one.add_whole(time.perf_counter_ns() - since)
            lines: dict[int, int] = defaultdict(int)
            trace = _trace(code, lines)
            sys.settrace(trace)
            try:
                return call(*args)
            finally:
                # A debugger that came meanwhile goes on, and the rest was not seen.
                if sys.gettrace() is trace:
                    sys.settrace(None)
                    one.add(lines)

        return functools.update_wrapper(measuring, call)

    def told(self) -> list[Spent]:
        """What was measured since this was asked last; of code that was never measured,
        once, that it was not.
        """
        with self._lock:
            measured = [*self._all.values()]
        return [spent for one in measured if (spent := one.told()) is not None]

    def nothing(self) -> str:
        """Why nothing was measured, and what to do; empty where something was."""
        with self._lock:
            measured = [*self._all.values()]
        if any(one.has_lines for one in measured):
            return ""
        if not measured:
            return _NO_CODE
        for one in measured:
            if one.is_captured or one.why_not:
                return (
                    _CAPTURED if one.is_captured else _NOT_MEASURED.format(one.why_not)
                )
        return _TRACED if any(one.is_traced for one in measured) else _ONCE


def _on_device(
    call: Callable[..., Any],
    args: tuple[Any, ...],
    code: CodeType | None,
    clock: DeviceClock,
    one: _Measured,
) -> Any:
    """Make one call, and look into it where there is a code to look for."""
    if not clock.has_room():
        return call(*args)
    mark, marks = clock.marker(), Marks()
    if code is None:
        marks.append((0, mark()))
        try:
            return call(*args)
        finally:
            marks.append((0, mark()))
            clock.take(marks, lambda lines: one.add_whole(sum(lines.values())))
    trace = Marking(code, marks, mark, clock.is_capturing)
    sys.settrace(trace.entered)
    try:
        return call(*args)
    finally:
        if sys.gettrace() == trace.entered:
            sys.settrace(None)
            one.is_captured = trace.is_captured
            if marks and not trace.is_captured:
                clock.take(marks, one.add)


class _Halves:
    """Divides the calls of a function: of each pair with the same sizes one is looked
    into, and of all calls the first.
    """

    def __init__(self) -> None:
        self._coin = random.Random(_SEED)
        self._open: dict[tuple[int, ...], bool] = {}
        """For sizes of which a pair lacks a call, whether that is to be looked into."""
        self._is_begun = False

    def is_looked_into(self, sizes: tuple[int, ...]) -> bool:
        looks = self._open.pop(sizes, None)
        if looks is None:
            looks = not self._is_begun or bool(self._coin.getrandbits(1))
            self._is_begun = True
            if len(self._open) == _MOST_SIZES:
                self._open.clear()
            self._open[sizes] = not looks
        return looks


def _sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    """What a call is given that is no tensor: the sizes, where they may be any."""
    # Inductor gives its code one list.
    given = cast("list[object]", args[0] if isinstance(args[0], list) else args)
    return tuple(one for one in given if isinstance(one, int))


class _Measured:
    """The time of one listing by its lines."""

    def __init__(self, revision: RevisionName) -> None:
        self._revision = revision
        self.has_lines = False
        """Whether a call was measured, ever."""
        self.is_traced = False
        """Whether a call was not measured, because somebody else traced it."""
        self.is_captured = False
        """Whether a call was not measured, because it put kernels into a CUDA graph."""
        self.why_not = ""
        """Why no call can be measured, if none can."""
        self.clocks: list[DeviceClock] = []
        """What has times that were not read yet."""
        self._is_told = False
        self._calls = self._nanoseconds = 0
        self._whole_calls = self._whole_nanoseconds = 0
        self._lines: dict[int, int] = defaultdict(int)
        self._lock = threading.Lock()

    def add(self, lines: dict[int, int]) -> None:
        """Add the time of one call."""
        lines.pop(0, None)
        with self._lock:
            self.has_lines = True
            self._calls += 1
            self._nanoseconds += sum(lines.values())
            for line, took in lines.items():
                self._lines[line] += took

    def add_whole(self, nanoseconds: int) -> None:
        """Add the time of one call whose lines nobody looked at."""
        with self._lock:
            self._whole_calls += 1
            self._whole_nanoseconds += nanoseconds

    def told(self) -> Spent | None:
        """All of it, once."""
        for clock in self.clocks:
            clock.read(is_last=True)
        with self._lock:
            if not self._calls and self._is_told:
                return None
            self._is_told = True
            if self.is_captured:
                self._forget()  # what was seen until it was
            found = sorted(self._lines.items(), key=lambda one: -one[1])[:_MOST_LINES]
            told = Spent(
                self._revision,
                self._calls,
                self._nanoseconds / 1e9,
                tuple((line - 1, took / 1e9) for line, took in sorted(found)),
                self._whole_calls,
                self._whole_nanoseconds / 1e9,
            )
            self._forget()
            return told

    def _forget(self) -> None:
        self._calls = self._nanoseconds = 0
        self._whole_calls = self._whole_nanoseconds = 0
        self._lines.clear()


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
