"""The values that inductor's code has while it runs, judged by the graph it was made of."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.judging.claims import Claims, Suspicion, judge_outputs
from fxls.runtime.numbers.judging.precision import OF_CODE
from fxls.runtime.numbers.kept import Lowered, copy_of
from fxls.runtime.numbers.replaying import Mode, Segments
from fxls.runtime.numbers.room import Values
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.producers.compiled_calls import compile_with
from fxls.runtime.torch_private import fx

__all__ = ["Judgement", "Reading", "judge_kernels", "narrowed"]

any_torch: Any = torch

_BUFFER = re.compile(r"\bbuf\d+\b")
_ENDS = re.compile(r"^\s*(return\b|.*\bdel\b)")
"""Lines before which what they name has its last value."""
_GIVES_MEMORY = re.compile(
    r"^\s*(buf\d+) = "
    r"(?:[\w.]*\bempty\w*(?:\.\w+)*\(|(?:reinterpret_tensor\()?(\w+)\b.*\bdel \2\b)"
)
"""Lines that give a buffer memory, new or of a value that nobody needs any more."""


@dataclass(slots=True)
class Judgement:
    """What is to be said of the code of one graph."""

    claims: Claims
    outputs: tuple[Any, ...]
    """As a room holds them, and behind them what is in each input that the graph
    overwrites."""
    is_saving: bool = False
    """It is judged by the graph that it was made of, which returns as much."""
    kernels: dict[str, str] = field(default_factory=dict[str, str])
    """By node, the buffer of inductor's code that has its value."""


def judge_kernels(
    lowered: Lowered, graph: ReplayedGraph, inputs: Mapping[str, Any]
) -> Judgement:
    """Run compiled code once more and judge what it has; raises `NotRun`."""
    if lowered.why_not:
        raise NotRun(lowered.why_not)
    assert lowered.run is not None, "its caller asks"
    start = Values(room=getattr(inputs, "room", None))
    start.take(inputs, lowered.call.names)
    reading = Reading(lowered.path, Values(room=start.room))
    outputs = _outputs(lowered, graph, start, reading)
    claims = Claims(Segments(graph, start), OF_CODE)
    result = Judgement(claims, outputs)
    buffers = {
        node: buffer
        for buffer, (node, _) in lowered.buffers.items()
        if buffer in reading.values
        and node in graph.by_name
        # A buffer has the last one of several values.
        and node not in graph.writes.changing
    }
    for name in sorted(buffers, key=graph.order.__getitem__):
        buffer = buffers[name]
        value = reading.values.pop(buffer)
        # A buffer may have the form in which a later node reads the value.
        if claims.take(name, value):
            claims.segments.known[name] = value
            result.kernels[name] = buffer
    judge_outputs(claims, outputs)
    return result


def _outputs(
    lowered: Lowered, graph: ReplayedGraph, inputs: Values, reading: Reading
) -> tuple[Any, ...]:
    """What the code returns, and leaves in what the graph overwrites, as a room holds it."""
    own = {name: _own(inputs[name]) for name in lowered.call.names}
    written = [own.get(name) for name in graph.written]
    given = [*own.values()]
    own.clear()  # the code lets go of each as soon as it can
    found = attempt(lambda: reading.call(lowered, given))
    if isinstance(found, Raised):
        raise NotRun(f"its code raises when it runs again: {found.error!r}"[:200])
    held = Values(room=inputs.room)
    for at, output in enumerate((*leaves(found), *written)):
        held[str(at)] = output
    return tuple(held.all_held())


def narrowed(
    graph: ReplayedGraph,
    known: Mapping[str, Any],
    wrong: Suspicion,
    settings: Mapping[str, Any],
) -> Suspicion | None:
    """Which node of several in a kernel is wrong: they are compiled once more, each with
    its value kept, under the settings of the program. None where that code is right.
    """
    given = Values(known).without(wrong.name)
    segments = Segments(graph, given)
    rows = segments.region([wrong.name])
    names = list(
        dict.fromkeys(used for row in rows for used in graph.uses(row) if used in given)
    )
    own = segments.values([wrong.name], Mode.OWN)
    shown = [
        row.name
        for row in rows
        if isinstance(own[row.name], torch.Tensor)
        and row.name not in graph.writes.changing
    ]
    module = _module(graph, rows, names, shown)
    inputs = [_own(given[name]) for name in names]
    compiled = attempt(lambda: compile_with(settings, module, inputs))
    if isinstance(compiled, Raised) or compiled is None:
        return None
    with torch.no_grad():
        made = attempt(lambda: compiled([_own(given[name]) for name in names]))
    if isinstance(made, Raised):
        return None
    claims = Claims(segments, OF_CODE)
    for name, value in zip(shown, leaves(made), strict=False):
        if claims.take(name, value):
            segments.known[name] = value
        if claims.wrong:
            return claims.wrong[0]
    return None


def _module(
    graph: ReplayedGraph,
    rows: Sequence[Row],
    names: Sequence[str],
    shown: Sequence[str],
) -> Any:
    """A graph of its own of some nodes, which returns the value of each."""
    made: Any = fx.Graph()
    nodes: dict[str, Any] = {name: made.placeholder(name) for name in names}
    held: dict[str, Any] = {}
    for row in rows:

        def moved(node: Any) -> Any:
            return nodes[graph.name_of(node)]

        if row.opcode == "get_attr":
            held[str(row.target)] = graph.run(row, moved)
        args = fx.node.map_arg(row.args, moved)
        kwargs = fx.node.map_arg(row.kwargs, moved)
        call = (row.opcode, row.target, args, kwargs)
        nodes[row.name] = made.create_node(*call, name=row.name)
    made.output(tuple(nodes[name] for name in shown))
    return fx.GraphModule(held, made)


class Reading:
    """Runs inductor's code and takes each buffer when it has its last value."""

    def __init__(self, path: str, values: Values) -> None:
        self._path = path
        self.values = values
        self._unwritten: set[str] = set()
        """Buffers whose memory no kernel was given yet: what it holds is not theirs. One
        that is fused away passes its memory on and is never written."""

    def call(self, lowered: Lowered, given: list[Any]) -> Any:
        """What the code returns."""
        assert lowered.run is not None, "asked before"
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            with torch.no_grad():
                return lowered.run(given)
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, _event: str, _arg: object) -> Any:
        return self._line if frame.f_code.co_filename == self._path else None

    def _line(self, frame: FrameType, event: str, _arg: object) -> Any:
        if event == "line":
            line = linecache.getline(self._path, frame.f_lineno)
            if _ENDS.match(line):
                self._take(line, frame)
            if given := _GIVES_MEMORY.match(line):
                self._unwritten.add(given[1])
            elif not _ENDS.match(line):
                self._unwritten.difference_update(_BUFFER.findall(line))
        return self._line

    def _take(self, line: str, frame: FrameType) -> None:
        for name in _BUFFER.findall(line):
            value = frame.f_locals.get(name)
            is_new = name not in self.values and name not in self._unwritten
            if is_new and isinstance(value, torch.Tensor):
                self.values[name] = copy_of(value)


def _own(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value
