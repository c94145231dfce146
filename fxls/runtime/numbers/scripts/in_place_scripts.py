"""Cuts two graphs that change values in place around what one does otherwise, and writes
both as a script.

A value is another one at each moment, so the nodes of a cut are a row of the graph: behind
those that both graphs begin with, as far as the first that gives something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.judging.elements import has_numbers_of
from fxls.runtime.numbers.judging.precision import (
    LENIENT,
    Verdict,
    explained,
    judged,
)
from fxls.runtime.numbers.kept import copy_of
from fxls.runtime.numbers.random_nodes import is_random
from fxls.runtime.numbers.replaying import Mode, alone, compute, formed
from fxls.runtime.numbers.scripts.reproducing import OF_BOTH, TORCH
from fxls.runtime.numbers.scripts.script import function_of, script
from fxls.runtime.numbers.scripts.script_inputs import variants
from fxls.runtime.passes.graph_state import GraphState, Row, is_same
from fxls.runtime.torch_private import fx
from fxls.verdicts.comparison import Reproducer

__all__ = ["of_change_in_place", "result_of"]

_MOST_TRIED = 64
"""So many nodes are tried whether the cut can do without them."""


def of_change_in_place(
    name: str,
    graphs: tuple[ReplayedGraph, ReplayedGraph],
    inputs: Mapping[str, Any],
) -> Sequence[Reproducer]:
    """The script for a change of a graph of which no node can be run by itself; raises
    `NotRun`.
    """
    with alone():
        before, after = graphs
        runs = _Run(before, inputs), _Run(after, inputs)
        claim = f"{name} replaces nodes by others that compute something else."
        for end in _ends(*runs):
            begin = _beginning(*runs, end)
            rows = [run.between(begin, end) for run in runs]
            if any(map(is_random, (*rows[0], *rows[1]))):
                raise NotRun("random numbers are drawn in between")
            given = runs[0].values_at(begin)
            used = _used(runs, rows, end, given)
            both = [
                _without_idle(graph, some, used, end, given)
                for graph, some in zip(graphs, rows, strict=True)
            ]
            found = _written(both, used, given, claim)
            if found is not None:
                return [found]
    return []


class _Run:
    """A graph that was run from its first node to its last."""

    def __init__(self, graph: ReplayedGraph, inputs: Mapping[str, Any]) -> None:
        self.graph = graph
        self.rows = [
            row for row in graph.rows if row.opcode not in ("placeholder", "get_attr")
        ]
        attributes = [row for row in graph.rows if row.opcode == "get_attr"]
        self._given = {
            **{row.name: graph.run(row, _nobody) for row in attributes},
            **inputs,
        }
        self.seen: dict[str, torch.Tensor] = {}
        """What each node gave at the moment when it ran."""
        self.left: dict[str, Any] = {}
        """What is in each input behind the last node."""
        self.memory: dict[str, set[int]] = {}
        """Where the elements of each value are."""
        values = self._run(len(self.rows), is_noting=True)
        self.left = {one: values[one] for one in self._given}

    def _run(self, count: int, *, is_noting: bool = False) -> dict[str, Any]:
        values = {
            name: formed(value, Mode.OWN, 0) for name, value in self._given.items()
        }
        if is_noting:
            self.memory = {name: _memory(value) for name, value in values.items()}
        for row in self.rows[:count]:
            found = attempt(
                lambda row=row: self.graph.run(row, values.__getitem__, in_place=True)
            )
            if isinstance(found, Raised):
                raise NotRun(f"{row.name} cannot be computed")
            values[row.name] = found
            if is_noting:
                self.memory[row.name] = _memory(found)
                if isinstance(found, torch.Tensor):
                    self.seen[row.name] = copy_of(found)
        return values

    def values_at(self, begin: int) -> dict[str, Any]:
        """What each value is in front of a node."""
        return self._run(begin)

    def between(self, begin: int, end: str) -> list[Row]:
        """The nodes from one on, as far as one that is named, or to the last."""
        names = [row.name for row in self.rows]
        last = names.index(end) + 1 if end in names else len(names)
        return self.rows[begin:last]


def _nobody(name: str) -> Any:
    raise NotRun(f"nobody has the value of {name}")


def _memory(value: Any) -> set[int]:
    return {
        one.untyped_storage().data_ptr()
        for one in leaves(value)
        if isinstance(one, torch.Tensor)
    }


def _ends(old: _Run, new: _Run) -> Iterator[str]:
    """The first node that gives something else, and the inputs in which that is left."""
    for row in new.rows:
        one, other = new.seen.get(row.name), old.seen.get(row.name)
        if one is not None and other is not None and _is_other(one, other):
            yield row.name
            break
    for name, value in new.left.items():
        other = old.left.get(name)
        if not isinstance(value, torch.Tensor) or not isinstance(other, torch.Tensor):
            continue
        if _is_other(value, other):
            yield name


def _is_other(actual: torch.Tensor, own: torch.Tensor) -> bool:
    found = judged(actual, own, lambda: None, lambda: own.double(), LENIENT)
    return found.verdict is not Verdict.RIGHT


def _beginning(old: _Run, new: _Run, end: str) -> int:
    """Behind how many nodes, that both begin with, the cut may begin: no two of the
    values that it reads may share memory there, and each must be one that can be written.
    """
    count = 0
    for one, other in zip(old.rows, new.rows, strict=False):
        if not is_same(one, other) or one.name == end:
            break
        count += 1
    for begin in range(count, -1, -1):
        made = {row.name for row in old.rows[:begin]} | old.left.keys()
        used: set[str] = {end} & made
        for run in (old, new):
            for row in run.between(begin, end):
                used |= made.intersection(run.graph.uses(row))
        memory = [old.memory[name] for name in used if old.memory[name]]
        is_apart = sum(map(len, memory)) == len(set[int]().union(*memory))
        if is_apart and all(len(one) == 1 for one in memory):
            return begin
    raise NotRun("its inputs share memory")


def _used(
    runs: Sequence[_Run],
    rows: Sequence[Sequence[Row]],
    end: str,
    given: Mapping[str, Any],
) -> list[str]:
    used = [end] if end in given else []
    for run, some in zip(runs, rows, strict=True):
        used += [one for row in some for one in run.graph.uses(row) if one in given]
    return list(dict.fromkeys(used))


def _graph_of(
    graph: ReplayedGraph, rows: Sequence[Row], used: Sequence[str], end: str
) -> Any:
    made: Any = fx.Graph()
    nodes: dict[str, Any] = {name: made.placeholder(name) for name in used}

    def moved(node: Any) -> Any:
        return nodes[graph.name_of(node)]

    for row in rows:
        args, kwargs = fx.node.map_arg((row.args, row.kwargs), moved)
        call = (row.opcode, row.target, args, kwargs)
        nodes[row.name] = made.create_node(*call, name=row.name)
    made.output(nodes[end])
    return made


def _without_idle(
    graph: ReplayedGraph,
    rows: Sequence[Row],
    used: Sequence[str],
    end: str,
    given: Mapping[str, Any],
) -> Any:
    """The graph of these nodes, without those that change nothing of its result."""
    kept = [*rows]
    wanted = result_of(_graph_of(graph, kept, used, end), used, given)
    for row in [*rows][::-1][:_MOST_TRIED]:
        is_read = any(row.name in graph.uses(one) for one in kept)
        if is_read or row.name == end:
            continue
        fewer = [one for one in kept if one is not row]
        found = result_of(_graph_of(graph, fewer, used, end), used, given)
        if has_numbers_of(found, wanted):
            kept = fewer
    return _graph_of(graph, kept, used, end)


def result_of(
    made: Any, names: Sequence[str], given: Mapping[str, Any], mode: Mode = Mode.OWN
) -> torch.Tensor:
    """What a cut returns, computed from its first node to its last; raises `NotRun`."""
    graph = ReplayedGraph(GraphState(fx.GraphModule({}, made)))
    values = {name: formed(given[name], mode, at) for at, name in enumerate(names)}
    compute(graph, values, mode)
    found = values[str(graph.outputs[0])]
    if not isinstance(found, torch.Tensor):
        raise NotRun("what is wrong is no tensor")
    return found


def _written(
    both: Sequence[Any], used: Sequence[str], given: Mapping[str, Any], claim: str
) -> Reproducer | None:
    old, new = both
    gone = [name for name in used if not any(_reads(one, name) for one in both)]
    for one in both:
        for node in [*one.nodes]:
            if node.op == "placeholder" and node.name in gone:
                one.erase_node(node)
    names = [name for name in used if name not in gone]
    for texts, said, values in variants(names, given):
        own, actual = (result_of(one, names, values) for one in both)
        moved, exact = (
            result_of(old, names, values, mode) for mode in (Mode.MOVED, Mode.EXACT)
        )
        found = judged(actual, own, lambda m=moved: m, lambda e=exact: e, LENIENT)
        if found.verdict is not Verdict.WRONG:
            continue
        limit = explained(own, moved, exact, LENIENT) or 0.0
        functions = [function_of(old, "before"), function_of(new, "after")]
        text = script(functions, texts, limit)
        count = max(len(one.nodes) - len(names) - 1 for one in both)
        return Reproducer(claim, text, count, False, said, TORCH, OF_BOTH)  # noqa: FBT003  # it is a field
    return None


def _reads(made: Any, name: str) -> bool:
    return any(node.name == name and node.users for node in made.nodes)
