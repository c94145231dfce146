"""Cuts the graph around a wrong value, and writes it as scripts that need torch alone.

Whether a script fails is found by running it, in a process of its own. Here graphs are
run, and nothing is compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves, widened
from fxls.runtime.numbers.judging.claims import Suspicion
from fxls.runtime.numbers.judging.decompositions import WrongDecomposition
from fxls.runtime.numbers.judging.precision import (
    ALL_TOGETHER,
    OF_CODE,
    STRICT,
    Roundings,
    Verdict,
    explained,
    judged,
)
from fxls.runtime.numbers.replaying import Mode, Replay, Segments
from fxls.runtime.numbers.room import Values
from fxls.runtime.numbers.scripts.script import function_of, script
from fxls.runtime.numbers.scripts.script_inputs import variants
from fxls.runtime.passes.graph_state import GraphState, Row, is_node
from fxls.runtime.torch_private import fx
from fxls.verdicts.comparison import Reproducer

__all__ = [
    "BACKENDS",
    "MOST_COMPILATIONS",
    "OF_BOTH",
    "TORCH",
    "Compiling",
    "Cut",
    "cut",
    "inputs_of_both",
    "of_change",
    "of_decomposition",
    "of_function",
    "of_kernel",
]

BACKENDS = ("inductor", "aot_eager", "aot_eager_decomp_partition")
"""Those of torch that a script may name."""
TORCH = str(torch.__version__)
OF_COMPILED = "What it compiles is compared with the same function in eager mode."
OF_BOTH = (
    "It runs the graph before and the graph behind; what made the one of the other is not"
    " in this script."
)
MOST_COMPILATIONS = 3
"""So many scripts are made that compile, with what the comparison compiled."""


@dataclass(frozen=True, slots=True)
class Compiling:
    """How a script compiles."""

    backend: str = "inductor"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of inductor, where they are not the usual ones."""
    most: int = MOST_COMPILATIONS
    is_mean: bool = False
    """Whether it is all elements together that are wrong."""


class Cut:
    """Some nodes as a graph of their own, that returns one tensor."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self._replayed = ReplayedGraph(GraphState(fx.GraphModule({}, graph)))
        self.inputs = self._replayed.inputs
        self.nodes = len(self._replayed.rows) - len(self.inputs)

    def value(self, given: Mapping[str, Any], mode: Mode) -> torch.Tensor | None:
        """What it gives for these inputs."""
        (output,) = self._replayed.outputs
        try:
            found = Segments(self._replayed, given).value(str(output), mode)
        except NotRun:
            return None
        return found if isinstance(found, torch.Tensor) else None

    def explained(
        self,
        given: Mapping[str, Any],
        roundings: Roundings,
        *,
        is_mean: bool = False,
    ) -> float | None:
        """How far precision lets another computation be from it."""
        own = self.value(given, Mode.OWN)
        if own is None:
            return None
        moved, exact = self.value(given, Mode.MOVED), self.value(given, Mode.EXACT)
        return explained(own, moved, exact, roundings, is_mean=is_mean)


# -- what is wrong ---------------------------------------------------------------------


def of_kernel(
    graph: ReplayedGraph,
    known: Mapping[str, Any],
    wrong: Suspicion,
    node: str | None,
    how: Compiling,
) -> Sequence[Reproducer]:
    """Scripts for a kernel: the one node that is wrong, if it is known, and then all that
    the kernel computes.
    """
    given = _attributes(graph, known) | Values(known).without(wrong.name)
    segments = Segments(graph, given)
    claim = f"The code that {how.backend} writes for {node or wrong.name} is wrong."
    found: list[Reproducer] = []
    if node is not None:
        values = given | segments.values([wrong.name], Mode.OWN)
        del values[node]
        found += _compiled(cut(graph, values, node), values, claim, how)
    if node is None or len(segments.region([wrong.name])) > 1:
        whole = cut(graph, given, wrong.name, actual=wrong.actual)
        # A node that is right when it is alone is right with other numbers as well.
        found += [*_compiled(whole, given, claim, how)][::-1]
    return found[: how.most]


def of_function(
    graph: ReplayedGraph, inputs: Mapping[str, Any], output: str, how: Compiling
) -> Sequence[Reproducer]:
    """Scripts for a function of which no part is known to be at fault."""
    claim = f"What {how.backend} makes of this function returns something wrong."
    given = _attributes(graph, inputs) | inputs
    return [*_compiled(cut(graph, given, output), given, claim, how)][: how.most]


def of_change(
    name: str,
    graphs: tuple[ReplayedGraph, ReplayedGraph],
    known: Mapping[str, Any],
    wrong: Suspicion,
    how: Compiling | None,
) -> Sequence[Reproducer]:
    """Scripts for a change of a graph: what was there before, compiled, where torch may
    do the same to it again; and both as they are.
    """
    before, after = graphs
    held = _attributes(after, known) | _attributes(before, known)
    given = held | Values(known).without(wrong.name)
    names = inputs_of_both(graphs, given, wrong.name, wrong.new_name)
    found: list[Reproducer] = []
    if how is not None:
        alone_before = cut(before, given, wrong.name, actual=wrong.actual)
        claim = f"{how.backend} computes something else, because of its pass {name}."
        found += _compiled(alone_before, given, claim, how)
    old = cut(before, given, wrong.name, names, actual=wrong.actual)
    new = cut(after, given, wrong.new_name, names, actual=wrong.actual)
    claim = f"{name} replaces nodes by others that compute something else."
    return [*found[: how.most if how else 0], *_both((old, new), given, claim)]


def of_decomposition(
    wrong: WrongDecomposition, graph: ReplayedGraph, run: Replay, how: Compiling
) -> Sequence[Reproducer]:
    """Scripts for an operator: compiled, and beside the nodes that it fell into."""
    one = wrong.one
    made: Any = fx.Graph()
    placed: dict[str, Any] = {}

    def moved(node: Any) -> Any:
        name = graph.name_of(node)
        if name not in placed:
            placed[name] = made.placeholder(name)
        return placed[name]

    args, kwargs = fx.node.map_arg((one.args, one.kwargs), moved)
    node = made.create_node("call_function", one.operator, args, kwargs)
    parts = [
        graph.name_of(part) if is_node(part) else "" for part in leaves(one.result)
    ]
    is_one = is_node(one.result)
    made.output(node if is_one else _part(made, node, parts.index(wrong.node)))
    given = Values(room=run.values.room)
    given.take(run.values, placed)
    claim = f"{how.backend} decomposes {one.operator} into something else."
    found = [*_compiled(Cut(made), given, claim, how)][: how.most]
    new = cut(graph, given, wrong.node, [*placed])
    claim = f"{one.operator} is decomposed into nodes that compute something else."
    return [*found, *_both((Cut(made), new), given, claim)]


# -- cuts ------------------------------------------------------------------------------


def cut(
    graph: ReplayedGraph,
    given: Mapping[str, Any],
    output: str | Sequence[str],
    names: Sequence[str] | None = None,
    *,
    actual: Any = None,
    is_drawing: bool = False,
) -> Cut:
    """The nodes that compute one of what is given, or several; `actual` is what is wrong
    of it. With `is_drawing` some may draw random numbers.
    """
    outputs = [output] if isinstance(output, str) else [*dict.fromkeys(output)]
    rows = _region(graph, given, outputs, is_drawing=is_drawing)
    made: Any = fx.Graph()
    names = _inputs(graph, rows, given) if names is None else names
    nodes: dict[str, Any] = {name: made.placeholder(name) for name in names}

    def moved(node: Any) -> Any:
        return nodes[graph.name_of(node)]

    for row in rows:
        if row.name in nodes:
            continue
        args = fx.node.map_arg(row.args, moved)
        kwargs = fx.node.map_arg(row.kwargs, moved)
        call = (row.opcode, row.target, args, kwargs)
        nodes[row.name] = made.create_node(*call, name=row.name)
    found = [nodes[one] for one in outputs if one in nodes]
    last = found[0] if len(found) == 1 else tuple(found)
    if isinstance(actual, tuple | list):
        several = cast("Sequence[Any]", actual)
        own = Segments(graph, given).value(outputs[0], Mode.OWN)
        last = _part(made, last, _worst(several, own))
    made.output(last)
    return Cut(made)


def _region(
    graph: ReplayedGraph,
    given: Mapping[str, Any],
    outputs: Sequence[str],
    *,
    is_drawing: bool,
) -> Sequence[Row]:
    states = dict.fromkeys(graph.by_name) if is_drawing else None
    return Segments(graph, given, states).region(outputs)


def _attributes(graph: ReplayedGraph, beside: Mapping[str, Any]) -> Values:
    """What a graph reads from its module, which is an input of a script; in the room of
    other values.
    """
    found = Values(room=getattr(beside, "room", None))
    for row in graph.rows:
        if row.opcode == "get_attr":
            value = attempt(lambda row=row: graph.run(row, found.__getitem__))
            if not isinstance(value, Raised):
                found[row.name] = value
    return found


def _inputs(
    graph: ReplayedGraph, rows: Sequence[Any], given: Mapping[str, Any]
) -> list[str]:
    used = [name for row in rows for name in graph.uses(row) if name in given]
    return list(dict.fromkeys(used))


def inputs_of_both(
    graphs: tuple[ReplayedGraph, ReplayedGraph],
    given: Mapping[str, Any],
    name: str,
    new_name: str | None = None,
    *,
    is_drawing: bool = False,
) -> list[str]:
    """What the nodes of two graphs are given that compute one value, which may have
    another name in the second. With `is_drawing` some may draw random numbers.
    """
    names: list[str] = []
    last = name if new_name is None else new_name
    for graph, output in zip(graphs, (name, last), strict=True):
        rows = _region(graph, given, [output], is_drawing=is_drawing)
        names += [one for one in _inputs(graph, rows, given) if one not in names]
        if not rows and output not in names:
            names.append(output)
    return names


def _part(made: Any, node: Any, at: int) -> Any:
    return made.create_node("call_function", operator.getitem, (node, at))


def _worst(actual: Sequence[Any], own: Sequence[Any]) -> int:
    """Which of several tensors is furthest from what it should be."""

    def off(at: int) -> float:
        one, other = actual[at], own[at]
        if not isinstance(one, torch.Tensor) or one.shape != other.shape:
            return -1.0
        off = (widened(one) - widened(other)).abs().nan_to_num(posinf=1e300)
        return float(off.max()) if off.numel() else -1.0

    return max(range(len(actual)), key=off)


# -- scripts ---------------------------------------------------------------------------


def _compiled(
    cut: Cut, given: Mapping[str, Any], claim: str, how: Compiling
) -> Iterator[Reproducer]:
    """Scripts that compile a cut: with numbers of a seed, and with those that it had."""
    function = function_of(cut.graph, "function")
    for inputs, said, values in variants(cut.inputs, given):
        limit = cut.explained(values, OF_CODE, is_mean=how.is_mean)
        if limit is None:
            continue
        text = script(
            [function],
            inputs,
            limit,
            backend=how.backend,
            settings=how.settings,
            is_mean=how.is_mean,
        )
        count, shows = cut.nodes, OF_COMPILED
        yield Reproducer(claim, text, count, True, said, TORCH, shows)  # noqa: FBT003  # it is a field


def _both(
    cuts: tuple[Cut, Cut], given: Mapping[str, Any], claim: str
) -> Iterator[Reproducer]:
    """The script that runs two cuts, with the first numbers for which they differ."""
    old, new = cuts
    functions = [function_of(old.graph, "before"), function_of(new.graph, "after")]
    for inputs, said, values in variants(old.inputs, given):
        right, actual = old.value(values, Mode.OWN), new.value(values, Mode.OWN)
        if right is None or actual is None:
            continue
        found = judged(
            actual,
            right,
            lambda v=values: old.value(v, Mode.MOVED),
            lambda v=values: old.value(v, Mode.EXACT),
        )
        if found.verdict is not Verdict.WRONG or found.evidence is None:
            continue
        is_mean = found.evidence.reason == ALL_TOGETHER
        limit = old.explained(values, STRICT, is_mean=is_mean) or 0.0
        text = script(functions, inputs, limit, is_mean=is_mean)
        count = max(old.nodes, new.nodes)
        yield Reproducer(claim, text, count, False, said, TORCH, OF_BOTH)  # noqa: FBT003  # it is a field
        return
