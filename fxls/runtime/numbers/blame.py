"""Which nodes a wrong value is the fault of, and where the program has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fxls.engine.ir.target_names import pretty_target
from fxls.engine.origins.resolve import RawOrigin
from fxls.listing import Place
from fxls.runtime.numbers.claims import Suspicion
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.kept import Crash
from fxls.runtime.numbers.replaying import Segments
from fxls.runtime.passes.graph_state import is_same
from fxls.verdicts.comparison import Evidence, Fault, Where

__all__ = ["MOST_NAMED", "changed_nodes", "crashed", "where"]

MOST_NAMED = 8
"""So many nodes are named of which one is wrong."""

Named = tuple[ReplayedGraph, str, tuple[ReplayedGraph, ...]]
"""A node by its graph and its name, and the graphs that may know where it came from."""


def changed_nodes(
    before: ReplayedGraph,
    after: ReplayedGraph,
    wrong: Suspicion,
    known: Mapping[str, Any],
) -> Sequence[Named]:
    """The nodes that somebody made, altered or removed, by which a value is wrong."""
    names = [name for name in after.by_name if name in known and name != wrong.name]
    given = {name: known[name] for name in (*names, *after.inputs) if name in known}
    given.pop(wrong.new_name, None)
    try:
        rows = Segments(after, given).region([wrong.new_name])
    except NotRun:
        rows = (
            [after.by_name[wrong.new_name]] if wrong.new_name in after.by_name else []
        )
    both = (after, before)
    made = [row.name for row in rows if row.name not in before.by_name]
    if made:
        return [(after, name, both) for name in made[:MOST_NAMED]]
    gone = [row.name for row in wrong.region if row.name not in after.by_name]
    if gone:
        return [(before, name, both) for name in gone[:MOST_NAMED]]
    altered = [
        row.name for row in rows if not is_same(before.by_name[row.name], row)
    ] or [wrong.name]
    return [(after, name, both) for name in altered[:MOST_NAMED]]


def where(graph: ReplayedGraph, name: str, asked: Sequence[ReplayedGraph]) -> Where:
    """A node, and where the program has it; what made it may have said nothing of that."""
    row = graph.by_name.get(name)
    target = "" if row is None else pretty_target(row.target)
    for one in (graph, *asked):
        origin = one.origin(name)
        if origin is not None:
            return Where(name, target, tuple(_places(origin)))
    return Where(name, target)


def crashed(compilation: str, crash: Crash) -> Fault:
    """The fault of a step that raised, though no step before it did."""
    places: list[Where] = []
    if crash.state is not None and crash.node:
        graph = ReplayedGraph(crash.state)
        places.append(where(graph, crash.node, (graph,)))
    nothing = Evidence("", (), 0.0, 0.0, 0.0, 0.0, f"it raises {crash.raised}")
    return Fault(
        *(crash.kind, compilation, crash.stage, crash.name, crash.ordinal),
        tuple(places),
        nothing,
        crash.confirmed,
        crash.raised,
    )


def _places(origin: RawOrigin | None) -> list[Place]:
    found: list[Place] = []
    while origin is not None:
        if isinstance(origin[0], Place):
            found.append(origin[0])
        origin = origin[2]
    return found
