"""Compares the values of a captured graph with those that Python computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import torch

from fxls.attempt import Raised, attempt
from fxls.listing import Place
from fxls.runtime.numbers.as_python.aligning import Given, align
from fxls.runtime.numbers.as_python.calling_frame import PythonCall
from fxls.runtime.numbers.as_python.python_values import (
    Line,
    PythonValues,
    Seen,
    short_name,
)
from fxls.runtime.numbers.graphs import (
    NodeName,
    NotRun,
    ReplayedGraph,
    doubled,
    draw_from,
    is_plain,
    leaves,
    randomness,
)
from fxls.runtime.numbers.judging.precision import LENIENT, Verdict, judged
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.numbers.replaying import Mode, alone, formed_all, raised_by
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import claiming_to_compile
from fxls.verdicts.comparison import Evidence

__all__ = ["AsPython", "compare_with_python"]

any_torch: Any = torch

_PYTHON = "Python"
_NEVER = "Python does not come to its line"
_OTHER = "Python returns something else, and nobody can tell by which node"
_UNSET = ("empty", "new_empty", "resize")
"""How the operations begin whose values are whatever was in memory."""

_Ran = Callable[[Row, Any, Mapping[str, Any]], Any]


class AsPython(msgspec.Struct, frozen=True):
    """What came of it."""

    why_not: str = ""
    """Why nothing can be said, as a clause."""
    node: str = ""
    """The first node that Python does not compute so, of values that it does."""
    evidence: Evidence | None = None
    output: str = ""
    """That the function returns something else, where no node tells why, as a clause."""


def compare_with_python(
    graph: ReplayedGraph, inputs: Mapping[str, Any], state: Any, call: PythonCall
) -> AsPython:
    """What the call computes, beside what the graph does with these inputs.

    It changes what the call changes, and takes all of a process: see `child`.
    """
    any_torch.set_num_threads(1)  # threads do not live on in a process that is forked
    with claiming_to_compile():
        found = attempt(lambda: _Run(graph, inputs, state).beside(call))
    if not isinstance(found, Raised):
        return found
    if isinstance(found.error, NotRun):
        return AsPython(str(found.error))
    # A fault of ours, which nobody would hear of: this process has no output.
    return AsPython(f"fxls fails with {raised_by(found.error)}")


class _Run:
    """A captured graph that was run from its first node to its last."""

    def __init__(
        self, graph: ReplayedGraph, inputs: Mapping[str, Any], state: Any
    ) -> None:
        self.graph, self._inputs, self.state = graph, inputs, state
        self.given: dict[str, Given] = {}
        """What each node gave at the moment when it ran, if it gave tensors."""
        self.memory: dict[str, frozenset[int]] = {}
        """Where the tensors of each node are; all stay there until the last node ran."""
        self.random: set[str] = set()
        self._drawn: Any = state
        values = self._run(self._ran)
        for name in graph.inputs:
            self.memory[name] = _memory_of(values[name])
        self.ends = [one for one in leaves([*values.values()]) if is_plain(one)]
        """All tensors that there are behind the last node."""
        self._returned = self._returned_of(values)
        self.lines = {name: _line_of(graph, name) for name in self.given}

    def _run(self, ran: _Ran) -> Mapping[str, Any]:
        """What all nodes gave, as it is in the end; `ran` may put another value in place
        of each.
        """
        with alone():
            draw_from(self.state)
            values = formed_all(
                self.graph.inputs, self._inputs, Mode.OWN, self.graph.order
            )
            for row in self.graph.rows:
                if row.opcode == "placeholder":
                    continue
                made = attempt(
                    lambda row=row: self.graph.run(
                        row, values.__getitem__, in_place=True
                    )
                )
                if isinstance(made, Raised):
                    why = raised_by(made.error)
                    raise NotRun(f"{row.name} cannot be computed: {why}")
                values[row.name] = ran(row, made, values)
        return values

    def _ran(self, row: Row, made: Any, values: Mapping[str, Any]) -> Any:
        now = randomness()
        if not any_torch.equal(now, self._drawn):
            self.random.add(row.name)
            self._drawn = now
        name, given = short_name(row.target), made
        if name == "setitem":
            given = values[self.graph.name_of(row.args[0])]
        tensors = [copy_of(one) for one in leaves(given) if is_plain(one)]
        self.memory[row.name] = _memory_of(made)
        if tensors and row.opcode != "get_attr":
            self.given[row.name] = Given(row.name, Seen(name, tensors))
        return made

    def beside(self, call: PythonCall) -> AsPython:
        """What Python does instead."""
        python = PythonValues(frozenset(self.lines.values()))
        draw_from(self.state)
        returned = attempt(lambda: python.run(call.code, call.call))
        if isinstance(returned, Raised) and call.is_whole:
            raise NotRun(f"Python raises {raised_by(returned.error)}")
        if call.is_whole and all(self._has(one) for one in _made_by(python, returned)):
            return AsPython()
        found = self._first_other(python, is_whole=call.is_whole)
        if found is None and call.is_whole:
            if self.random:
                raise NotRun("it draws random numbers")
            return AsPython(output=_OTHER)
        return found or AsPython()

    def _has(self, value: torch.Tensor) -> bool:
        return any(_is_equal(one, value) for one in self.ends)

    def _first_other(self, python: PythonValues, *, is_whole: bool) -> AsPython | None:
        """The first node that Python computes otherwise, of the same values."""
        by_line: dict[Line, list[Given]] = {}
        for name, line in self.lines.items():
            by_line.setdefault(line, []).append(self.given[name])
        aligned = [
            align(nodes, python.seen.get(line, ()), _is_same, is_by_name=not is_whole)
            for line, nodes in by_line.items()
        ]
        same = {name for one in aligned for name in one.same}
        others = {given.node: seen for one in aligned for given, seen in one.others}
        changed: set[int] = set()
        """The memory that a node changed and Python perhaps otherwise."""
        for name, given in self.given.items():
            if name in same:
                continue
            row = self.graph.by_name[name]
            reads = self.graph.uses(row)
            line, other = self.lines[name], others.get(name)
            is_sure = (
                name not in self.random
                and not given.seen.name.startswith(_UNSET)
                and not any(one in self.given and one not in same for one in reads)
                and not any(self.memory[one] & changed for one in reads)
            )
            if is_sure and other is not None:
                evidence = _evidence(given.seen, other)
                if evidence and (is_whole or self._matters(name, other)):
                    return AsPython(node=name, evidence=evidence)
            elif is_sure and is_whole and line is not None and line not in python.lines:
                return AsPython(node=name, evidence=_never(given.seen))
            if _changes(row) and reads:
                changed |= self.memory[reads[0]]
        return None

    def _matters(self, name: str, other: Seen) -> bool:
        """Whether the graph returns something else with what Python gives for a node."""

        def ran(row: Row, made: Any, _: Mapping[str, Any]) -> Any:
            if row.name != name:
                return made
            # A value that was changed in place is not put in: others read it by itself.
            return copy_of(other.given[0]) if is_plain(made) else made

        again = self._returned_of(self._run(ran))
        both = zip(again, self._returned, strict=True)
        return not all(_is_equal(one, was) for one, was in both)

    def _returned_of(self, values: Mapping[str, Any]) -> list[torch.Tensor]:
        """The tensors that a graph returns whose nodes have these values."""
        names = [one for one in self.graph.outputs if isinstance(one, NodeName)]
        return [
            one for one in leaves([values[name] for name in names]) if is_plain(one)
        ]


def _made_by(python: PythonValues, returned: Any) -> list[torch.Tensor]:
    """The tensors that a function returned and did not have before."""
    return [one for one in leaves(returned) if is_plain(one) and python.has_made(one)]


def _memory_of(value: Any) -> frozenset[int]:
    plain = [one for one in leaves(value) if is_plain(one)]
    return frozenset(one.untyped_storage().data_ptr() for one in plain)


def _changes(row: Row) -> bool:
    """Whether a node changes a value that it reads, by its name."""
    name = (
        row.target
        if isinstance(row.target, str)
        else getattr(row.target, "__name__", "")
    )
    return name == "setitem" or (name.endswith("_") and not name.endswith("__"))


def _line_of(graph: ReplayedGraph, name: str) -> Line:
    """The line that a node came from, as its innermost frame of the program's own has it."""
    origin = graph.origin(name)
    place = None if origin is None else origin[0]
    return (place.path, place.span.start.line + 1) if isinstance(place, Place) else None


def _is_same(one: Seen, other: Seen) -> bool:
    return len(one.given) == len(other.given) and all(
        map(_is_equal, one.given, other.given)
    )


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether values are the same, but for roundings."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    one, other = one.detach(), other.detach()
    found = judged(one, other, lambda: None, lambda: doubled(other), LENIENT)
    return found.verdict is Verdict.RIGHT


def _evidence(given: Seen, python: Seen) -> Evidence | None:
    """How far the value of a node is from that which Python gives."""
    for one, other in zip(given.given, python.given, strict=False):
        found = judged(
            one, other, lambda: None, lambda other=other: doubled(other), LENIENT
        )
        if found.verdict is Verdict.WRONG and found.evidence is not None:
            return msgspec.structs.replace(found.evidence, beside=_PYTHON)
    return None


def _never(given: Seen) -> Evidence:
    first = given.given[0]
    form = str(first.dtype).removeprefix("torch."), tuple(first.shape)
    return Evidence(*form, float("inf"), 0.0, 0.0, 0.0, _NEVER, beside=_PYTHON)
