"""A graph as the pictures and tables of an extension want it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from types import MappingProxyType

from msgspec.structs import replace

from fxls.ide.listing.document import Document
from fxls.ide.listing.groups import Group
from fxls.ide.listing.table_rows import row
from fxls.ide.listing.value_text import bytes_of, device_of, dtype_of, short_form
from fxls.listing import Listing, Place
from fxls.lsp.client import Client, Lines
from fxls.lsp.encoding import counter
from fxls.lsp.item import Item
from fxls.lsp.params import Rows
from fxls.lsp.uris import uri_of
from fxls.record.node_errors import NodeError, error_text

__all__ = [
    "ErrorItem",
    "GraphItem",
    "NodeItem",
    "PlaceItem",
    "RowItem",
    "ScopeItem",
    "TableItem",
    "graph_item",
    "place_item",
    "table_item",
]


_Units = Callable[[int, int], int]

_NO_ERRORS: Mapping[int, NodeError] = MappingProxyType({})

_OF_CODE = ("kernel", "call_kernel", "buffer")
"""The opcodes of the nodes that code has, and no graph."""


class PlaceItem(Item, frozen=True):
    """An expression of the source."""

    uri: str
    line: int
    character: int
    end_line: int
    end_character: int
    function: str


class ScopeItem(Item, frozen=True):
    """A call of a submodule: nodes that follow each other."""

    path: str
    type: str
    first: int
    last: int
    """The last node; behind it is nothing of this call."""
    parent: int | None = None
    """The call around it, of the list; None in the root."""
    parameters: int | None = None


class ErrorItem(Item, frozen=True):
    """How far a value is off, as `fxls compare` found."""

    off: float
    """The largest distance from what float64 gives; the largest number for infinity."""
    explained: float
    """The largest distance that precision explains."""
    text: str
    """The same for people, with the step that made the value."""
    wrong: bool = False


class NodeItem(Item, frozen=True):
    """A node of the picture."""

    name: str
    opcode: str
    target: str
    line: int
    character: int
    reads: list[int]
    scope: int | None = None
    """The innermost call of a submodule that it is part of, of `scopes`."""
    value: str | None = None
    dtype: str | None = None
    device: str | None = None
    bytes: int | None = None
    origin: int | None = None
    """The place that made it, of `places`."""
    passes: tuple[str, ...] = ()
    end_line: int | None = None
    """The last line of the text of a kernel."""
    computes: tuple[str, ...] = ()
    """Of code, the nodes of the graph before that are computed or held here."""
    error: ErrorItem | None = None
    """How far its value is off, where a comparison judged it."""


class GraphItem(Item, frozen=True):
    """A whole graph."""

    uri: str
    document: str
    module: str
    qualname: str
    producer: str
    nodes: list[NodeItem]
    scopes: list[ScopeItem]
    places: list[PlaceItem]
    stage: str = ""
    rank: int | None = None
    parameters: int | None = None
    stale: bool = False
    parent: str | None = None
    """The URI of the listing of the graph that this one was made from."""
    computes_gradients: bool = False


class RowItem(Item, frozen=True):
    """A row of the table."""

    node: int
    name: str
    opcode: str
    target: str
    args: str
    kwargs: str
    users: int
    line: int
    character: int
    shape: str = ""
    dtype: str = ""
    device: str = ""
    bytes: int | None = None
    module: str = ""
    module_type: str = ""
    passes: tuple[str, ...] = ()
    origin: PlaceItem | None = None
    nanoseconds: int | None = None
    """Of all kernels that compute it together, or its own; None where nobody measured."""
    shared: bool = False
    """Whether one of these kernels computes other nodes as well."""
    error: ErrorItem | None = None


class TableItem(Item, frozen=True):
    """Some rows of a table, and how many there are."""

    nodes: int
    """In the graph."""
    found: int
    """That were searched for."""
    rows: list[RowItem]
    compared: bool = False
    """Whether a comparison judged any node of the graph."""


def graph_item(
    client: Client,
    document: Document,
    virtual: str,
    lines_of: Lines,
    *,
    stale: bool,
    parent: str | None = None,
    errors: Mapping[int, NodeError] = _NO_ERRORS,
) -> GraphItem:
    """The picture of a graph; `virtual` is the document of its identity, `parent` the path
    of the listing that it was made from.
    """
    listing = document.listing
    identity = listing.identity
    scopes, within = _scopes(document)
    units = counter(client.encoding, document.lines)
    places, rows_of = _places(client, listing, lines_of)
    return GraphItem(
        uri_of(document.path),
        virtual,
        identity.module,
        identity.qualname,
        identity.producer,
        [
            replace(
                _node(document, node, units, within[node], rows_of),
                error=_error(errors.get(node)),
            )
            for node in range(len(listing.nodes))
        ],
        scopes,
        places,
        identity.stage,
        identity.rank,
        listing.parameters,
        stale,
        None if parent is None else uri_of(parent),
        listing.computes_gradients,
    )


def table_item(
    client: Client,
    document: Document,
    found: Sequence[int],
    asked: Rows,
    lines_of: Lines,
    times: Sequence[int] = (),
    shared: Set[int] = frozenset(),
    errors: Mapping[int, NodeError] = _NO_ERRORS,
) -> TableItem:
    """The window that was asked for, of the nodes that were found; `times` has the
    nanoseconds of each node, of which some are `shared` with others.
    """
    first = max(asked.first, 0)
    last = None if asked.count is None else first + max(asked.count, 0)
    shown = found[first:last]
    cached = cache(lines_of)
    units = counter(client.encoding, document.lines)
    return TableItem(
        len(document.listing.nodes),
        len(found),
        [
            replace(
                _row(client, document, node, units, cached),
                nanoseconds=(times[node] or None) if times else None,
                shared=node in shared,
                error=_error(errors.get(node)),
            )
            for node in shown
        ],
        bool(errors),
    )


def _error(error: NodeError | None) -> ErrorItem | None:
    if error is None:
        return None
    value, text = error.value, error_text(error)
    return ErrorItem(value.error, value.allowed, text, value.is_wrong)


def _node(
    document: Document,
    node: int,
    units: _Units,
    scope: int | None,
    places: dict[int, int],
) -> NodeItem:
    facts = document.listing.nodes[node]
    value = facts.value
    start = document.bound_at(node)
    end_line = document.last_line(node)
    return NodeItem(
        facts.name,
        facts.opcode,
        facts.target,
        start.line,
        units(start.line, start.column),
        [*document.read_by(node)],
        scope,
        short_form(value) if value is not None else None,
        dtype_of(value) or None,
        device_of(value) or None,
        bytes_of(value),
        None if facts.origin is None else places[facts.origin],
        facts.passes,
        None if end_line == facts.line else end_line,
        facts.made_from if facts.opcode in _OF_CODE else (),
    )


def _row(
    client: Client, document: Document, node: int, units: _Units, lines_of: Lines
) -> RowItem:
    found = row(document, node)
    start = document.bound_at(node)
    origin = document.listing.nodes[node].origin
    return RowItem(
        node,
        found.name,
        found.opcode,
        found.target,
        found.args,
        found.kwargs,
        found.users,
        start.line,
        units(start.line, start.column),
        found.shape,
        found.dtype,
        found.device,
        found.bytes,
        found.module,
        found.module_type,
        found.passes,
        None if origin is None else _place(client, document.listing, origin, lines_of),
    )


def _places(
    client: Client, listing: Listing, lines_of: Lines
) -> tuple[list[PlaceItem], dict[int, int]]:
    """The places that nodes were made in, and the number of each by its frame."""
    frames = dict.fromkeys(
        facts.origin for facts in listing.nodes if facts.origin is not None
    )
    lines_of = cache(lines_of)
    places = [_place(client, listing, frame, lines_of) for frame in frames]
    return places, {frame: number for number, frame in enumerate(frames)}


def _place(client: Client, listing: Listing, frame: int, lines_of: Lines) -> PlaceItem:
    row_ = listing.frames[frame]
    path = listing.sources[row_.source].path
    return place_item(client, Place(path, row_.function, row_.span), lines_of)


def place_item(client: Client, place: Place, lines_of: Lines) -> PlaceItem:
    """A place, in the units that the client counts in."""
    span = client.range(place.span, lines_of(place.path))
    return PlaceItem(
        uri_of(place.path),
        span.start.line,
        span.start.character,
        span.end.line,
        span.end.character,
        place.function,
    )


def _scopes(document: Document) -> tuple[list[ScopeItem], list[int | None]]:
    """The calls of submodules, outer ones first, and the innermost of each node."""
    listing = document.listing
    found: list[ScopeItem] = []
    within: list[int | None] = [None] * len(listing.nodes)
    waiting: list[tuple[Group, int | None]] = [(document.groups, None)]
    while waiting:
        group, parent = waiting.pop()
        number = parent
        if group.scope is not None:
            scope = listing.scopes[group.scope]
            number = len(found)
            found.append(
                ScopeItem(
                    scope.path,
                    scope.type,
                    group.first,
                    group.last,
                    parent,
                    scope.parameters,
                )
            )
        for member in reversed(group.members):
            if isinstance(member, int):
                within[member] = number
            else:
                waiting.append((member, number))
    return found, within
