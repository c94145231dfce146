"""Which pass left a graph behind that cannot run, where something later raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph, leaves
from fxls.runtime.numbers.kept import Change, Crash, KeptCompilation
from fxls.runtime.numbers.replaying import Replay, raised_by, replayed
from fxls.runtime.passes.graph_state import GraphState, is_same
from fxls.verdicts.comparison import Kind

__all__ = ["broken_by", "broken_when_run"]


def broken_when_run(
    kind: Kind,
    name: tuple[str, int, str],
    graphs: tuple[ReplayedGraph, GraphState],
    after: Replay,
    inputs: Mapping[str, Any],
) -> Crash | None:
    """What a step broke, if its graph raises on inputs on which the graph before does not."""
    before, _ = graphs
    if not after.failed or replayed(before, inputs, ()).failed:
        return None
    failed = next(iter(after.failed.items()))
    return _crash(kind, name, graphs, *failed, after.values)


def broken_by(kept: KeptCompilation) -> Crash | None:
    """The first pass whose graph raises, where the graph before does not.

    Nothing was called, so there are no inputs: what torch noted of the shapes is run.
    """
    for one in kept.changes:
        found = None if one.told.subgraph else _fails(one.after)
        if found is not None and _fails(one.before) is None:
            before = ReplayedGraph(one.before)
            return _crash(Kind.PASS, _name(one), (before, one.after), *found)
    return None


def _name(one: Change) -> tuple[str, int, str]:
    return one.told.name, one.told.ordinal, one.step.capture.stage


def _crash(
    kind: Kind,
    name: tuple[str, int, str],
    graphs: tuple[ReplayedGraph, GraphState],
    node: str,
    why: str,
    values: Mapping[str, Any],
) -> Crash:
    before, state = graphs
    how = f"the graph before it runs, and the graph behind it raises at {node}"
    title, ordinal, stage = name
    made = _changed_before(before, ReplayedGraph(state), node)
    return Crash(
        *(kind, stage, title, ordinal, why, state, made or node, how),
        before=before.state,
        raises=node,
        values=values,
    )


def _changed_before(before: ReplayedGraph, after: ReplayedGraph, node: str) -> str:
    """The last node that was made or altered, of those that a node is computed of; empty
    where there is none.
    """
    waiting, seen = [node], {node}
    while waiting:
        for used in after.uses(after.by_name[waiting.pop()]):
            if used not in seen:
                seen.add(used)
                waiting.append(used)
    return next(
        (
            row.name
            for row in reversed(after.rows)
            if row.name in seen
            and not (
                (old := before.by_name.get(row.name)) is not None and is_same(old, row)
            )
        ),
        "",
    )


def _fails(state: GraphState) -> tuple[str, str, Mapping[str, Any]] | None:
    """The first node that cannot be run of values that have shapes alone, why, and the
    values of those before it.
    """
    graph = ReplayedGraph(state)
    values: dict[str, Any] = {}
    for row in graph.rows:
        if row.opcode == "placeholder":
            meta = row.node.meta
            values[row.name] = meta.get("val", meta.get("example_value"))
    modes = [getattr(one, "fake_mode", None) for one in leaves(values)]
    mode = next((one for one in modes if one is not None), None)
    if mode is None:
        return None
    for row in graph.rows:
        if row.name in values or any(one not in values for one in graph.uses(row)):
            continue

        def run(row: Any = row) -> Any:
            with mode:
                return graph.run(row, values.__getitem__)

        found = attempt(run)
        if isinstance(found, Raised):
            if isinstance(found.error, NotRun):
                continue
            return row.name, raised_by(found.error), values
        values[row.name] = found
    return None
