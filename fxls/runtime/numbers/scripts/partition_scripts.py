"""Writes what a forward saves and a backward reads as a script, beside the joint graph.

All three graphs are cut to one gradient, and what the forward saves goes to the backward
by its place, as it does in the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fxls.runtime.numbers.graphs import NodeName, NotRun, ReplayedGraph
from fxls.runtime.numbers.judging.precision import (
    LENIENT,
    Verdict,
    explained,
    judged,
)
from fxls.runtime.numbers.kept import KeptCall
from fxls.runtime.numbers.random_nodes import is_random
from fxls.runtime.numbers.replaying import Mode, alone, compute, formed
from fxls.runtime.numbers.scripts.in_place_scripts import result_of
from fxls.runtime.numbers.scripts.reproducing import TORCH
from fxls.runtime.numbers.scripts.script import HOW_FAR, JUDGED, assembled, function_of
from fxls.runtime.numbers.scripts.script_inputs import variants
from fxls.runtime.passes.graph_state import GraphState, Row
from fxls.runtime.torch_private import fx
from fxls.verdicts.comparison import Reproducer

__all__ = ["of_saved"]

_MOST_TRIED = 16
"""So many gradients are tried, those first that fewer nodes compute."""
_CLAIM = "The backward is given something else than the joint graph has there."
_SHOWS = (
    "It runs the joint graph, and the forward and the backward that were made of it; what"
    " made them is not in this script."
)


def of_saved(
    joint: ReplayedGraph,
    halves: tuple[ReplayedGraph, ReplayedGraph],
    calls: Sequence[KeptCall],
) -> Sequence[Reproducer]:
    """The script for a value that is saved and is not what the backward counts on; raises
    `NotRun`.
    """
    if any(map(is_random, joint.rows)):
        raise NotRun("its graph draws random numbers")
    known: dict[str, Any] = {}
    for call in calls:
        for name in joint.inputs:
            if name in call.values and name not in known:
                known[name] = call.values[name]
    cuts = [_cut(joint, halves, at) for at, _ in enumerate(halves[1].outputs)]
    cuts = sorted((one for one in cuts if one is not None), key=lambda one: one.nodes)
    for one in cuts[:_MOST_TRIED]:
        with alone():
            found = _written(one, known)
        if found is not None:
            return [found]
    return []


@dataclass(frozen=True, slots=True)
class _Cut:
    """Three graphs that come to one gradient."""

    joint: Any
    forward: Any
    backward: Any
    inputs: Sequence[str]
    """Of the forward."""
    tangents: Sequence[str]
    saved: Sequence[str]
    """What the forward returns, by the names that the backward has for it."""

    @property
    def nodes(self) -> int:
        """How many nodes the longer way has."""
        both = _computing(self.forward) + _computing(self.backward)
        return max(_computing(self.joint), both)


def _cut(
    joint: ReplayedGraph, halves: tuple[ReplayedGraph, ReplayedGraph], at: int
) -> _Cut | None:
    """The nodes that one gradient is computed of; raises `NotRun`."""
    forward, backward = halves
    own = max(len(joint.outputs) - len(backward.outputs), 0)
    gradient, right = backward.outputs[at], joint.outputs[own + at]
    if not isinstance(gradient, NodeName) or not isinstance(right, NodeName):
        return None
    saved = [*forward.outputs[own:]]
    places = dict(zip(backward.inputs, saved, strict=False))
    if not all(_is_tensor(forward, one) for one in saved):
        raise NotRun("it saves more than tensors for the backward")
    last = _rows(backward, [gradient])
    read = {one for row in last for one in backward.uses(row)} | {gradient}
    wanted = [name for name in backward.inputs if name in read]
    kept = [name for name in wanted if name in places]
    whole = _rows(joint, [right])
    first = _rows(forward, [str(places[name]) for name in kept])
    used = {one for row in whole for one in joint.uses(row)}
    used |= {one for row in first for one in forward.uses(row)}
    used |= {str(places[name]) for name in kept} | {*wanted} - {*kept}
    inputs = [name for name in forward.inputs if name in used]
    tangents = [
        name for name in joint.inputs if name in used and name not in forward.inputs
    ]
    return _Cut(
        _graph(joint, whole, [*inputs, *tangents], right),
        _graph(forward, first, inputs, [str(places[name]) for name in kept]),
        _graph(backward, last, [*kept, *tangents], gradient),
        *(inputs, tangents, kept),
    )


def _computing(graph: Any) -> int:
    return sum(node.op not in ("placeholder", "output") for node in graph.nodes)


def _is_tensor(graph: ReplayedGraph, name: Any) -> bool:
    row = graph.by_name.get(str(name))
    return row is not None and isinstance(row.node.meta.get("val"), torch.Tensor)


def _rows(graph: ReplayedGraph, names: Sequence[str]) -> list[Row]:
    """The nodes that some are computed of, and those that overwrite an input of these."""
    found: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += graph.uses(graph.by_name[name])
        if name in graph.written:
            waiting.append(str(graph.written[name]))
    return [
        row
        for row in graph.rows
        if row.name in found and row.opcode not in ("placeholder", "get_attr")
    ]


def _graph(
    graph: ReplayedGraph,
    rows: Sequence[Row],
    names: Sequence[str],
    returned: str | Sequence[str],
) -> Any:
    made: Any = fx.Graph()
    nodes: dict[str, Any] = {name: made.placeholder(name) for name in names}

    def moved(node: Any) -> Any:
        name = graph.name_of(node)
        if name not in nodes:
            raise NotRun(f"a script has no {name}")
        return nodes[name]

    for row in rows:
        args, kwargs = fx.node.map_arg((row.args, row.kwargs), moved)
        call = (row.opcode, row.target, args, kwargs)
        nodes[row.name] = made.create_node(*call, name=row.name)
    is_one = isinstance(returned, str)
    made.output(nodes[returned] if is_one else tuple(nodes[one] for one in returned))
    return made


def _written(cut: _Cut, known: Mapping[str, Any]) -> Reproducer | None:
    """The script for one gradient, if it is another one."""
    names = [*cut.inputs, *cut.tangents]
    missing = [name for name in names if name not in known]
    if missing:
        raise NotRun(f"nobody has the value of {missing[0]}")
    for texts, said, values in variants(names, known):
        own = result_of(cut.joint, names, values)
        moved, exact = (
            result_of(cut.joint, names, values, mode)
            for mode in (Mode.MOVED, Mode.EXACT)
        )
        actual = _in_halves(cut, values)
        found = judged(actual, own, lambda m=moved: m, lambda e=exact: e, LENIENT)
        if found.verdict is not Verdict.WRONG:
            continue
        functions = [
            function_of(cut.joint, "joint"),
            function_of(cut.forward, "forward"),
            function_of(cut.backward, "backward"),
        ]
        limit = explained(own, moved, exact, LENIENT) or 0.0
        end = _END.format(limit=limit, count=len(cut.inputs))
        text = assembled(functions, texts, [HOW_FAR, end + JUDGED])
        return Reproducer(_CLAIM, text, cut.nodes, False, said, TORCH, _SHOWS)  # noqa: FBT003  # it is a field
    return None


def _in_halves(cut: _Cut, given: Mapping[str, Any]) -> torch.Tensor:
    """What the backward returns of what the forward saves."""
    values = {name: formed(given[name], Mode.OWN, 0) for name in given}
    first = ReplayedGraph(GraphState(fx.GraphModule({}, cut.forward)))
    compute(first, values, Mode.OWN)
    saved = [values[str(one)] for one in first.outputs]
    last = ReplayedGraph(GraphState(fx.GraphModule({}, cut.backward)))
    of_last = dict(zip(cut.saved, saved, strict=True))
    of_last |= {name: values[name] for name in cut.tangents}
    compute(last, of_last, Mode.OWN)
    found = of_last[str(last.outputs[0])]
    if not isinstance(found, torch.Tensor):
        raise NotRun("what is wrong is no tensor")
    return found


_END = """\
EXPLAINED = {limit:.3g}
with torch.no_grad():
    expected = joint(*inputs())
    given = inputs()
    saved = forward(*given[:{count}])
    actual = backward(*saved, *given[{count}:])
"""
