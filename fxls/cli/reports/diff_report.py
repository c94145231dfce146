"""What `fxls diff` says: of two graphs node by node, of two runs graph by graph.

Values in, text out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fxls.cli.diff_sides import Graph, Side, called
from fxls.cli.report import Sources, rows
from fxls.graph_diff import (
    SCHEMA,
    Altered,
    GraphDiff,
    Moved,
    as_json,
    call_text,
    places_of_erased,
    summary,
)
from fxls.listing import Identity, Listing

__all__ = [
    "Compared",
    "changed_nodes",
    "graphs_as_json",
    "graphs_text",
    "nodes_as_json",
    "nodes_text",
]


@dataclass(frozen=True, slots=True)
class Compared:
    """One graph on both sides; None where it is not there, or cannot be read."""

    identity: Identity
    old: Graph | None
    new: Graph | None
    diff: GraphDiff | None

    @property
    def is_same(self) -> bool:
        return self.diff is not None and not self.diff


def nodes_text(one: Compared, sources: Sources) -> str:
    """Each node that is different, in the order of the new graph."""
    assert one.old is not None, "there are two"
    assert one.new is not None, "likewise"
    assert one.diff is not None, "both were read"
    head = [
        f"{sign} {sources.name(str(graph.path))}  {called(graph.identity)}"
        for sign, graph in (("---", one.old), ("+++", one.new))
    ]
    return "\n".join((*head, summary(one.diff), *changed_nodes(one.diff, sources.name)))


def graphs_text(found: Sequence[Compared], sources: Sources) -> str:
    """A line for each graph that is different."""
    head = ("graph", "difference", "first", "old", "new")
    return rows(head, [_row(one, sources) for one in found if not one.is_same])


def nodes_as_json(one: Compared) -> dict[str, Any]:
    """Two graphs for programs."""
    assert one.diff is not None, "both were read"
    return {**as_json(one.diff), "old": _side(one.old), "new": _side(one.new)}


def graphs_as_json(sides: Sequence[Side], found: Sequence[Compared]) -> dict[str, Any]:
    """Two runs or ranks for programs."""
    return {
        "schema": SCHEMA,
        "same": all(one.is_same for one in found),
        "old": sides[0].title,
        "new": sides[1].title,
        "graphs": [
            {"identity": msgspec.to_builtins(one.identity)}
            | {"old": _side(one.old), "new": _side(one.new)}
            | {"diff": None if one.diff is None else as_json(one.diff)}
            for one in found
        ],
    }


def _side(graph: Graph | None) -> dict[str, Any] | None:
    if graph is None:
        return None
    identity = msgspec.to_builtins(graph.identity)
    return {"path": str(graph.path), "identity": identity}


def _row(one: Compared, sources: Sources) -> tuple[str, ...]:
    paths = [
        "" if graph is None else sources.name(str(graph.path))
        for graph in (one.old, one.new)
    ]
    first = ""
    if one.diff is not None:
        said = summary(one.diff)
        at = one.diff.first
        first = "" if at is None else _first(*at, sources)
    elif one.old is not None and one.new is not None:
        said = "cannot be read"
    else:
        said = "only in the new" if one.old is None else "only in the old"
    return (called(one.identity), said, first, *paths)


def _first(listing: Listing, node: int, sources: Sources) -> str:
    return " ".join((listing.nodes[node].name, *_place(listing, node, sources.name)))


def changed_nodes(diff: GraphDiff, name: Callable[[str], str]) -> Iterator[str]:
    """A line for each node that is different, in the order of the new graph; `name`
    gives what the file of a path is called.
    """
    old, new = diff.old, diff.new
    lines = [
        *((at, "+", new.nodes[at].name, _call(new, at, name)) for at in diff.created),
        *((one.new, "~", *_altered(diff, one)) for one in diff.altered),
        *((one.new, ">", *_moved(diff, one)) for one in diff.moved),
    ]
    places = places_of_erased(diff)
    lines += [
        (places[at], "-", old.nodes[at].name, _call(old, at, name))
        for at in diff.erased
    ]
    # Of one place what went comes before what came.
    lines.sort(key=lambda line: (line[0], "-+~>".index(line[1])))
    width = max((len(node) for _, _, node, _ in lines), default=0)
    for _, sign, node, text in lines:
        yield f"{sign} {node:<{min(width, 40)}}  {text}"


def _call(listing: Listing, node: int, name: Callable[[str], str]) -> str:
    return "  ".join((call_text(listing, node), *_place(listing, node, name)))


def _place(listing: Listing, node: int, name: Callable[[str], str]) -> Iterator[str]:
    origin = listing.origin(node)
    if origin is not None:
        place = origin.places[0]
        start = place.span.start
        yield f"{name(place.path)}:{start.line + 1}:{start.column + 1}"


def _altered(diff: GraphDiff, one: Altered) -> tuple[str, str]:
    said = [f"{each.what.value} {each.old} -> {each.new}" for each in one.differences]
    had, has = diff.old.nodes[one.old].name, diff.new.nodes[one.new].name
    if had != has:
        said.append(f"was {had}")
    return has, ", ".join(said)


def _moved(diff: GraphDiff, one: Moved) -> tuple[str, str]:
    nodes, before = diff.new.nodes, one.before
    where = "at the end" if before is None else f"before {nodes[before].name}"
    had, has = diff.old.nodes[one.old].name, nodes[one.new].name
    return has, f"stands {where}" + (f", was {had}" if had != has else "")
