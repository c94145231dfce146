"""Writes what raises as scripts that need torch alone, and raise the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.kept import Crash, KeptCompilation
from fxls.runtime.numbers.scripts.own_scripts import of_own
from fxls.runtime.numbers.scripts.raising import (
    ending,
    form_text,
    is_noted,
    is_sized,
)
from fxls.runtime.numbers.scripts.reproducing import (
    BACKENDS,
    MOST_COMPILATIONS,
    OF_BOTH,
    TORCH,
    Cut,
    cut,
    inputs_of_both,
)
from fxls.runtime.numbers.scripts.script import assembled, function_of, is_torchs
from fxls.runtime.passes.graph_state import Row
from fxls.runtime.torch_private import fx, is_view
from fxls.verdicts.comparison import Kind, Reproducer

__all__ = ["of_crash", "of_raising_code"]

MOST_NODES = 8
"""So many nodes a script has that are each tried alone."""

_OWN = "it is the program's own"
_SHOWS = "What it compiles runs in eager mode as well, which raises nothing."


def of_crash(kept: KeptCompilation, crash: Crash) -> Sequence[Reproducer]:
    """The scripts for a step that raised while something was compiled; raises `NotRun`."""
    if crash.before is not None and crash.state is not None:
        return [_of_broken(crash, ReplayedGraph(crash.before))]
    if crash.kind is Kind.KERNEL and crash.state is not None:
        graph = ReplayedGraph(crash.state)
        names = [crash.node] if crash.node in graph.by_name else []
        claim = f"inductor raises when it compiles {{}}: {crash.raised}"
        return _compiled(graph, names, _noted(graph), crash, claim)
    if kept.backend not in BACKENDS or "custom" in crash.name:
        try:
            return of_own(kept, crash)
        except NotRun as why:
            raise NotRun(f"{crash.name} raises, and {_OWN}: {why}") from why
    if crash.kind not in (Kind.PASS, Kind.BACKEND):
        raise NotRun(f"{crash.name} raises, and no script raises the same")
    graph = ReplayedGraph(kept.captured)
    claim = f"{crash.name} raises in {kept.backend}: {crash.raised}"
    return [_whole(graph, _noted(graph), crash, claim, kept.backend)]


def of_raising_code(
    graph: ReplayedGraph, values: Mapping[str, Any], crash: Crash
) -> Sequence[Reproducer]:
    """The scripts for compiled code that raises when it is called, by what its nodes give
    when they are run; raises `NotRun`.
    """
    claim = f"The code that inductor writes for {{}} raises: {crash.raised}"
    return _compiled(graph, [], values, crash, claim)


def _of_broken(crash: Crash, before: ReplayedGraph) -> Reproducer:
    """The graph before and the graph behind, as far as the node that raises."""
    assert crash.state is not None, "asked before"
    after = ReplayedGraph(crash.state)
    given = {**_attributes(after), **_attributes(before), **crash.values}
    name = _in_both(before, after, crash.raises)
    given = {one: given[one] for one in given if one not in _behind(after, crash, name)}
    names = inputs_of_both((before, after), given, name, is_drawing=True)
    old, new = (
        cut(graph, given, name, names, is_drawing=True) for graph in (before, after)
    )
    functions = [function_of(old.graph, "before"), function_of(new.graph, "after")]
    texts = {one: form_text(given[one]) for one in names}
    raised = crash.raised
    if any(map(is_noted, crash.values.values())):
        raised = raised.partition(":")[0]  # real kernels say it in other words
    text = assembled(
        functions,
        texts,
        [ending(["before(*inputs())"], "after(*inputs())", raised)],
        imports=["import re"],
    )
    claim = (
        f"{crash.name} replaces nodes by others, and the graph behind it raises:"
        f" {crash.raised}"
    )
    count = max(old.nodes, new.nodes)
    said = "drawn from a seed"
    return Reproducer(claim, text, count, False, said, TORCH, OF_BOTH)  # noqa: FBT003  # it is a field


def _in_both(before: ReplayedGraph, after: ReplayedGraph, raising: str) -> str:
    """The node that raises, or the first behind it that both graphs have."""
    behind = {raising}
    for row in after.rows:
        if behind.intersection(after.uses(row)):
            behind.add(row.name)
        if row.name in behind and row.name in before.by_name:
            return row.name
    raise NotRun("the graph before it has no value that the graph behind does not give")


def _behind(after: ReplayedGraph, crash: Crash, name: str) -> set[str]:
    """What is no input of both graphs: what is made anew, and what is computed of it."""
    before = crash.before
    assert before is not None, "asked before"
    known = {row.name for row in before.rows}
    found = {name}
    for row in after.rows:
        if row.name not in known or found.intersection(after.uses(row)):
            found.add(row.name)
    return found


def _compiled(
    graph: ReplayedGraph,
    names: Sequence[str],
    given: Mapping[str, Any],
    crash: Crash,
    claim: str,
) -> Sequence[Reproducer]:
    """Scripts that compile the nodes that may be to blame, each by itself, and behind them
    one that compiles the whole graph.

    Where no node is known, one of each kind is tried.
    """
    found: list[Reproducer] = []
    tried = [*names] or [*_of_each_kind(graph)]
    chunks = [tried[at : at + MOST_NODES] for at in range(0, len(tried), MOST_NODES)]
    for chunk in chunks[: MOST_COMPILATIONS - 1]:
        one = _alone(graph, chunk)
        known = {name: given[name] for name in one.inputs if name in given}
        if len(known) < len(one.inputs):
            continue
        what = chunk[0] if len(chunk) == 1 else f"one of {', '.join(chunk)}"
        found.append(_script(one, known, crash, claim.format(what), "inductor"))
    try:
        found.append(_whole(graph, given, crash, claim.format("a graph"), "inductor"))
    except NotRun:
        if not found:
            raise
    return found


def _whole(
    graph: ReplayedGraph,
    given: Mapping[str, Any],
    crash: Crash,
    claim: str,
    backend: str,
) -> Reproducer:
    """The script that compiles all nodes."""
    known = {**_attributes(graph), **{name: given[name] for name in graph.inputs}}
    made = cut(graph, known, [str(one) for one in graph.results], is_drawing=True)
    return _script(made, known, crash, claim, backend)


def _script(
    made: Cut, given: Mapping[str, Any], crash: Crash, claim: str, backend: str
) -> Reproducer:
    function = function_of(made.graph, "function")
    texts = {name: form_text(given[name]) for name in made.inputs}
    is_dynamic = any(is_sized(given[name]) for name in made.inputs)
    dynamic = ", dynamic=True" if is_dynamic else ""
    call = f'torch.compile(function, backend="{backend}"{dynamic})(*inputs())'
    text = assembled(
        [function],
        texts,
        [ending(["function(*inputs())"], call, crash.raised)],
        backend=backend,
        settings=crash.settings,
        imports=["import re"],
    )
    count = made.nodes
    is_had = all(not is_noted(given[name]) for name in made.inputs)
    said = "those that the program had" if is_had else "drawn from a seed"
    return Reproducer(claim, text, count, True, said, TORCH, _SHOWS)  # noqa: FBT003  # it is a field


def _of_each_kind(graph: ReplayedGraph) -> Iterator[str]:
    """One node of each kind that computes something, and that torch alone has."""
    seen: set[str] = set()
    for row in graph.rows:
        kind = str(row.target)
        if kind not in seen and _computes(row) and is_torchs(row.node):
            seen.add(kind)
            yield row.name


def _computes(row: Row) -> bool:
    is_part = getattr(row.target, "__name__", "") == "getitem"
    return row.opcode == "call_function" and not is_part and not is_view(row.target)


def _alone(graph: ReplayedGraph, names: Sequence[str]) -> Cut:
    """Some nodes, each computed of inputs and of none of the others."""
    made: Any = fx.Graph()
    rows = [graph.by_name[name] for name in names]
    used = dict.fromkeys(one for row in rows for one in graph.uses(row))
    nodes = {name: made.placeholder(name) for name in used}
    results: list[Any] = []

    def moved(node: Any) -> Any:
        return nodes[graph.name_of(node)]

    for row in rows:
        args, kwargs = fx.node.map_arg((row.args, row.kwargs), moved)
        # Its name may be that of an input here.
        results.append(made.create_node(row.opcode, row.target, args, kwargs))
    made.output(results[0] if len(results) == 1 else tuple(results))
    return Cut(made)


def _attributes(graph: ReplayedGraph) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in graph.rows:
        if row.opcode == "get_attr":
            value = row.held()
            if isinstance(value, torch.Tensor):
                found[row.name] = value
    return found


def _noted(graph: ReplayedGraph) -> dict[str, Any]:
    """What torch noted of the values of all nodes."""
    found: dict[str, Any] = {}
    for row in graph.rows:
        said = graph.said_of(row)
        value = said.get("val", said.get("example_value"))
        if value is not None:
            found[row.name] = value
    return {**found, **_attributes(graph)}
