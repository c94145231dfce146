"""When a GPU reaches the lines of inductor's code: it runs behind the line that starts it.

An event is put into the stream at each line, among the kernels, and the GPU notes when it
comes to it. Nobody waits for that: the times are read when they are there.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

__all__ = ["DeviceClock", "Marks", "clock_of"]

any_torch: Any = torch

_MOST_WAITING = 64
"""So many calls may be ahead of the GPU; further ones are not measured. Their events stay
with the driver until the GPU has come to them."""

_OTHER = "the code is for {}, and only a CPU and one GPU are measured"

Marks = list[tuple[int, Any]]
"""Lines, each with the event before it; zero stands for what is no line, as the end is."""


class DeviceClock:
    """Measures the calls of one function on a GPU."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._free: list[Any] = []
        """Events that were read."""
        self._waiting: deque[tuple[Marks, Callable[[dict[int, int]], None]]] = deque()
        self._lock = threading.Lock()

    def has_room(self) -> bool:
        """Whether the GPU is not too far behind for another call to be measured."""
        return len(self._waiting) < _MOST_WAITING

    def is_capturing(self) -> bool:
        """Whether kernels are put into a CUDA graph now, instead of being run. Events would
        belong to the graph as well, and have no times.
        """
        return any_torch.cuda.is_current_stream_capturing()

    def marker(self) -> Callable[[], Any]:
        """What puts an event into the stream that the thread is on now."""
        stream = any_torch.cuda.current_stream(self._index)

        def mark() -> Any:
            with self._lock:
                event = self._free.pop() if self._free else None
            if event is None:
                event = any_torch.cuda.Event(enable_timing=True)
            try:
                event.record(stream)
            except RuntimeError:
                return None  # the GPU failed, which the next call of torch says
            return event

        return mark

    def take(self, marks: Marks, add: Callable[[dict[int, int]], None]) -> None:
        """Read these marks when the GPU has passed them, and add the time of each line."""
        if all(event is not None for _, event in marks):
            self._waiting.append((marks, add))
        self.read()

    def read(self, *, is_last: bool = False) -> None:
        """Read what the GPU has passed; with `is_last` wait for all of it."""
        with self._lock:
            try:
                while self._waiting:
                    marks, add = self._waiting[0]
                    end = marks[-1][1]
                    if is_last:
                        end.synchronize()
                    elif not end.query():
                        return
                    self._waiting.popleft()
                    add(_lines(marks))
                    self._free += [event for _, event in marks]
            except RuntimeError:
                self._waiting.clear()  # the GPU failed, and has no times any more


def clock_of(compiled: Any) -> tuple[DeviceClock | None, str]:
    """What measures the code of a graph that inductor lowered, None for a CPU; and why
    nothing does.
    """
    types = {*getattr(compiled, "device_types", ())} - {"cpu", "meta"}
    indices = {*getattr(compiled, "device_idxs", ())}
    if not types:
        return None, ""
    if types == {"cuda"} and len(indices) == 1:
        return DeviceClock(indices.pop()), ""
    several = f"{len(indices)} GPUs"
    if types != {"cuda"}:
        several = " and ".join(sorted(types))
    return None, _OTHER.format(several)


class Marking:
    """Marks each line of the next call of a function, by `entered`, a trace function.

    Where inductor divides the code for CUDA graphs, the function calls others of the same
    file that have the kernels: their lines are marked as well. A graph that was captured
    runs without them.
    """

    def __init__(
        self,
        code: CodeType,
        marks: Marks,
        mark: Callable[[], Any],
        is_capturing: Callable[[], bool],
    ) -> None:
        self._code = code
        self._marks = marks
        self._mark = mark
        self._is_capturing = is_capturing
        self._has_parts = "partitions" in code.co_names
        self._is_begun = self._is_in_part = False

    @property
    def is_captured(self) -> bool:
        """Whether the kernels did not run, but a CUDA graph that has them."""
        return self._has_parts and self._is_begun and not self._is_in_part

    def entered(self, frame: FrameType, _event: str, _argument: object) -> Any:
        """Begin a call."""
        code = frame.f_code
        if code is self._code and not self._is_begun:
            self._is_begun = True
            return self._reached
        is_part = self._has_parts and code.co_filename == self._code.co_filename
        if not is_part or self._is_capturing():
            return None  # what a line calls is in the time of the line
        self._is_in_part = True
        return self._reached

    def _reached(self, frame: FrameType, event: str, _argument: object) -> Any:
        line = frame.f_lineno if event == "line" else 0
        if event == "return" and frame.f_code is not self._code and frame.f_back:
            line = frame.f_back.f_lineno
        self._marks.append((line, self._mark()))
        return self._reached


def _lines(marks: Marks) -> dict[int, int]:
    """The nanoseconds of each line; those of no line are under zero."""
    found: dict[int, int] = {}
    for (line, begin), (_, end) in itertools.pairwise(marks):
        took = round(begin.elapsed_time(end) * 1e6)
        found[line] = found.get(line, 0) + took
    return found
