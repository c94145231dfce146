"""Which nodes a wrong value is the fault of, and where the program has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fxls.engine.ir.target_names import pretty_target
from fxls.engine.origins.resolve import RawOrigin, innermost_place
from fxls.listing import Place
from fxls.runtime.listings.submodule_paths import submodule_of
from fxls.runtime.numbers.gradient_names import backward_of
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.judging.claims import Suspicion
from fxls.runtime.numbers.kept import Crash
from fxls.runtime.numbers.replaying import Segments
from fxls.runtime.numbers.room import Values
from fxls.runtime.passes.graph_state import HeldGraph, Row, is_same
from fxls.verdicts.comparison import Evidence, Fault, Where

__all__ = ["MOST_NAMED", "called", "changed_nodes", "crashed", "where"]

MOST_NAMED = 8
"""So many nodes are named of which one is wrong."""

Named = tuple[ReplayedGraph, str, tuple[ReplayedGraph, ...], str]
"""A node by its graph and its name, the graphs that may know where it came from, and the
node of the last of them that has the value that it is to compute."""


def changed_nodes(
    before: ReplayedGraph,
    after: ReplayedGraph,
    wrong: Suspicion,
    known: Mapping[str, Any],
) -> Sequence[Named]:
    """The nodes that somebody made, altered or removed, by which a value is wrong."""
    names = [name for name in after.by_name if name in known and name != wrong.name]
    given = Values(room=getattr(known, "room", None))
    its_own = {*names, *after.inputs} - {wrong.new_name}
    given.take(known, [name for name in known if name in its_own])
    try:
        rows = Segments(after, given).region([wrong.new_name])
    except NotRun:
        rows = (
            [after.by_name[wrong.new_name]] if wrong.new_name in after.by_name else []
        )
    asked = ((after, before), wrong.name)
    made = [row.name for row in rows if row.name not in before.by_name]
    if made:
        return [(after, name, *asked) for name in made[:MOST_NAMED]]
    gone = [row.name for row in wrong.region if row.name not in after.by_name]
    if gone:
        return [(before, name, *asked) for name in gone[:MOST_NAMED]]
    altered = [
        row.name for row in rows if not is_same(before.by_name[row.name], row)
    ] or [wrong.name]
    named: list[Named] = []
    for name in altered:
        inside = _altered_inside(before.by_name[name], after.by_name.get(name))
        named += inside or [(after, name, *asked)]
    return named[:MOST_NAMED]


def _altered_inside(before: Row, after: Row | None) -> Sequence[Named]:
    """The altered nodes of a graph that another one calls."""
    had, has = before.held, None if after is None else after.held
    if not isinstance(had, HeldGraph) or not isinstance(has, HeldGraph):
        return []
    old, new = ReplayedGraph(had.state), ReplayedGraph(has.state)
    return [
        (new, row.name, (new, old), "")
        for row in new.rows
        if row.name not in old.by_name or not is_same(old.by_name[row.name], row)
    ]


def where(
    graph: ReplayedGraph,
    name: str,
    asked: Sequence[ReplayedGraph] = (),
    instead: str = "",
) -> Where:
    """A node, and where the program has it.

    What made it may have said nothing of that; then there stands the place of `instead`,
    of the last graph.
    """
    row = graph.by_name.get(name)
    target = "" if row is None else pretty_target(row.target)
    of = "" if row is None else backward_of(row.node.meta)
    part = "" if row is None else submodule_of(row.node.meta)
    for one in (graph, *asked):
        origin = one.origin(name)
        if origin is not None:
            places, is_instead = _places(origin), False
            break
    else:
        places = _places(asked[-1].origin(instead)) if instead else []
        is_instead = bool(places)
    return Where(name, target, tuple(places), is_instead, of, part)


def called(one: Where, caller: RawOrigin | None) -> Where:
    """A node that has no place, as one of a module of torch's own, at the call by which the
    program came to it.
    """
    place = None if one.places else innermost_place(caller)
    if place is None:
        return one
    return msgspec.structs.replace(one, places=(place,), is_call=True)


def crashed(compilation: str, crash: Crash) -> Fault:
    """The fault of a step that raised, though no step before it did."""
    places: list[Where] = []
    if crash.state is not None and crash.node:
        graph = ReplayedGraph(crash.state)
        places.append(where(graph, crash.node))
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
