"""What Python computes in each line, in the order in which it does."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fxls.engine.origins.from_frames import is_source
from fxls.runtime.numbers.graphs import is_plain, leaves
from fxls.runtime.numbers.kept import copy_of

__all__ = ["Line", "PythonValues", "Seen", "short_name"]

Line = tuple[str, int] | None
"""A file, and the number of a line from 1 on; None for all that torch's own code does
where no line of the program's calls it."""

_MOST_SEEN = 200_000
"""So many operations are watched; a graph of 10,000 nodes has few of them."""
_REFLECTED = frozenset(
    f"{turned}{name}"
    for turned in "ri"
    for name in (
        *("add", "sub", "mul", "div", "truediv", "floordiv", "pow", "mod", "matmul"),
        *("and", "or", "xor", "lshift", "rshift"),
    )
)
_SAME = {"truediv": "div", "get": "getattr"}


def short_name(target: Any) -> str:
    """What an operation is called, however it is written: ``mul`` of ``x * y`` and of
    ``x.mul_(y)``.
    """
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    name = name.strip("_")
    if name in _REFLECTED:
        name = name[1:]
    return _SAME.get(name, name)


@dataclass(slots=True)
class Seen:
    """What an operation gave."""

    name: str
    given: list[torch.Tensor]
    """The tensors, as they were then."""


@dataclass(slots=True)
class PythonValues:
    """What a function computes, by line, while it runs."""

    wanted: frozenset[Line]
    """The lines of which values are kept."""
    seen: dict[Line, list[Seen]] = field(default_factory=dict[Line, list[Seen]])
    lines: set[Line] = field(default_factory=set[Line])
    """All that ran, of the files of the lines that are wanted."""
    count: int = 0
    made: dict[int, weakref.ref[torch.Tensor]] = field(
        default_factory=dict[int, "weakref.ref[torch.Tensor]"]
    )
    """The tensors that operations gave, by their ids."""
    _around: FrameType | None = None
    """What calls the function: what is around it is the program as it goes on."""

    def run(self, code: CodeType, call: Callable[[], Any]) -> Any:
        """What the call returns; raises what it raises, and OverflowError where it does
        far more than a graph.
        """
        files = {line[0] for line in self.wanted if line} | {code.co_filename}
        self._around = inspect.currentframe()

        def trace_lines(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                self.lines.add((frame.f_code.co_filename, frame.f_lineno))
            return trace_lines

        def trace(frame: FrameType, event: str, given: Any) -> Any:
            is_wanted = frame.f_code.co_filename in files
            return trace_lines(frame, event, given) if is_wanted else None

        sys.settrace(trace)
        try:
            with _Watching(self):
                return call()
        finally:
            sys.settrace(None)

    def take(self, function: Any, given: Any, frame: FrameType | None) -> None:
        """Keep what an operation gave in the innermost line of the program's own."""
        self.count += 1
        if self.count > _MOST_SEEN:
            raise OverflowError("Python does far more than the graph")
        found = [one for one in leaves(given) if is_plain(one)]
        self.made.update((id(one), weakref.ref(one)) for one in found)
        while frame not in (None, self._around) and not is_source(frame.f_code):
            frame = frame.f_back
        line: Line = None
        if frame is not None and frame is not self._around:
            line = frame.f_code.co_filename, frame.f_lineno
        if line in self.wanted and found:
            kept = Seen(short_name(function), [copy_of(one) for one in found])
            self.seen.setdefault(line, []).append(kept)

    def has_made(self, value: torch.Tensor) -> bool:
        """Whether an operation gave this very tensor."""
        made = self.made.get(id(value))
        return made is not None and made() is value


class _Watching(TorchFunctionMode):
    def __init__(self, values: PythonValues) -> None:
        super().__init__()
        self._values = values

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        is_written = short_name(func) == "setitem"
        given = args[0] if is_written and args else result
        self._values.take(func, given, inspect.currentframe())
        return result
