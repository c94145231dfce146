"""What a hover in a listing shows: the card of a node, the table of a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from fxls.ide.card import (
    Block,
    Card,
    Code,
    Field,
    Grid,
    Hover,
    Inline,
    Line,
    Link,
    Page,
    Snippet,
)
from fxls.ide.document import Document
from fxls.ide.pages import page_of
from fxls.ide.values import dtype_of, long_form, shape_of, short_form, size_of
from fxls.listing import Facts, Pieces, Place, Scope, Tensor
from fxls.text import LineTable, Point

__all__ = [
    "ROWS",
    "SourceText",
    "counted",
    "hover",
    "node_line",
    "node_link",
    "place_link",
    "table",
]

SourceText = Callable[[str], str | None]
"""The text of a source by its path; None when it cannot be read."""

ROWS = 60
"""The table on ``def forward`` shows so many nodes."""

_NAMES = 24
_CHARACTERS = 400
_FRAMES = 8
_SNIPPET = 6


def hover(document: Document, point: Point, source: SourceText) -> Hover | None:
    """The card of the node under a cursor, or the table when it is on the ``def``."""
    touched = document.touched(point)
    if touched is not None:
        return Hover(touched.span, _node_card(document, touched.node, source))
    definition = document.on_definition(point)
    if definition is not None:
        return Hover(definition, table(document, ROWS))
    return None


def table(document: Document, rows: int) -> Card:
    """The graph of a listing: how much there is of what, and its first `rows` nodes."""
    listing = document.listing
    opcodes = Counter(facts.opcode for facts in listing.nodes)
    totals = ", ".join(f"{count} {opcode}" for opcode, count in opcodes.items())
    title = [
        Code(listing.identity.qualname),
        f": {counted(len(listing.nodes), 'node')}",
    ]
    if totals:
        title.append(f" ({totals})")
    if listing.parameters is not None:
        title.append(f", {counted(listing.parameters, 'parameter')}")
    activations = _activations(listing.nodes)
    if activations:
        title.append(f", {size_of(activations)} of activations")
    header = ("name", "op", "target", "args", "kwargs", "users")
    header += ("shape", "dtype", "source")
    shown = range(min(rows, len(listing.nodes)))
    card: list[Block] = [
        Line(tuple(title)),
        Grid(header, tuple(_row(document, node) for node in shown)),
    ]
    left = len(listing.nodes) - rows
    if left > 0:
        card.append(
            Line(
                (
                    f"… and {left:,} more. ",
                    Code("fxls trace --show table"),
                    " prints all.",
                )
            )
        )
    return tuple(card)


def node_link(document: Document, node: int) -> Link:
    """The name of a node, leading to where it is bound."""
    destination = document.destination(node)
    name = document.listing.nodes[node].name
    return Link(name, destination.path, destination.focus.start)


def node_line(document: Document, node: int) -> tuple[Inline, ...]:
    """A node in a few words: opcode, target and value."""
    facts = document.listing.nodes[node]
    parts: list[Inline] = [facts.opcode]
    if facts.opcode not in {"placeholder", "output"} or facts.target != facts.name:
        parts += [" ", Code(facts.target)]
    if facts.value is not None:
        parts += [" → ", Code(short_form(facts.value))]
    return tuple(parts)


def place_link(place: Place) -> Link:
    """``net.py:12``, leading to the expression."""
    start = place.span.start
    return Link(f"{PurePath(place.path).name}:{start.line + 1}", place.path, start)


def counted(count: int, noun: str) -> str:
    """``1 node``, ``2,000 nodes``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _activations(nodes: Sequence[Facts]) -> int:
    """The bytes of all that the nodes compute; inputs and attributes are there before.

    An upper bound: a view shares the memory of what it is a view of.
    """
    return sum(
        facts.value.bytes or 0
        for facts in nodes
        if facts.opcode not in ("placeholder", "get_attr", "output")
        and isinstance(facts.value, Tensor)
    )


def _node_card(document: Document, node: int, source: SourceText) -> Card:
    listing = document.listing
    facts = listing.nodes[node]
    card: list[Block] = [
        Line((Code(facts.name), ": ", *node_line(document, node))),
        Field("args", _arguments(document, facts.args)),
        Field("kwargs", _keywords(document, facts.kwargs)),
        Field("users", _users(document, facts.users)),
    ]
    calls = _calls(document, facts)
    if calls:
        card.insert(1, Field("calls", calls))
    scopes = listing.module_path(node)
    if scopes:
        card.append(Field("module", _modules(scopes)))
    if facts.value is not None:
        card.append(Field("value", (Code(long_form(facts.value)),)))
    if facts.type is not None:
        card.append(Field("annotation", (Code(facts.type),)))
    if facts.detail is not None:
        card.append(Field("is", (Code(_clipped(facts.detail)),)))
    if facts.passes:
        card.append(Field("made by", (", after ".join(facts.passes),)))
    card += _frames(list(listing.places(facts.origin)), source)
    card += _others([[*listing.places(row)] for row in facts.more_origins], source)
    return tuple(card)


def _calls(document: Document, facts: Facts) -> tuple[Inline, ...]:
    """What the target is, and where to read of it."""
    if facts.call is None:
        return ()
    target = document.listing.targets[facts.call]
    parts: list[Inline] = [Code(_clipped(f"{target.name}{target.signature}"))]
    page = page_of(target.name)
    if page is not None:
        parts += [" ", Page("documentation", page)]
    if target.file is not None:
        name = f"{PurePath(target.file).name}:{target.line + 1}"
        parts += [" ", Link(name, target.file, Point(target.line, 0))]
    return tuple(parts)


def _modules(scopes: Sequence[Scope]) -> tuple[Inline, ...]:
    """The submodules from the outside, and what the innermost is."""
    parts: list[Inline] = []
    for scope in scopes:
        parts += [" / "] if parts else []
        parts += [Code(scope.path or "(root)"), f" {scope.type.rpartition('.')[2]}"]
    inner = scopes[-1]
    if inner.parameters is not None:
        parts.append(f", {counted(inner.parameters, 'parameter')}")
    return tuple(parts)


def _frames(places: Sequence[Place], source: SourceText) -> Iterable[Block]:
    """The chain of frames; the innermost and the outermost with their lines."""
    for number, place in enumerate(places[:_FRAMES]):
        verb = "from " if number == 0 else "called from "
        yield Line((verb, place_link(place), " in ", Code(place.function)))
        if number in (0, len(places) - 1):
            text = source(place.path)
            snippet = _lines(text, place) if text is not None else ""
            if snippet:
                yield Snippet(snippet)
    if len(places) > _FRAMES:
        left = counted(len(places) - _FRAMES, "frame")
        yield Line((f"… and {left} more, up to ", place_link(places[-1])))


def _others(chains: Sequence[Sequence[Place]], source: SourceText) -> Iterable[Block]:
    """Where else a node came from that was made from several: the innermost places."""
    places = [*dict.fromkeys(chain[0] for chain in chains if chain)]
    for place in places[:_FRAMES]:
        yield Line(("also from ", place_link(place), " in ", Code(place.function)))
        text = source(place.path)
        snippet = _lines(text, place) if text is not None else ""
        if snippet:
            yield Snippet(snippet)
    if len(places) > _FRAMES:
        yield Line((f"… and {counted(len(places) - _FRAMES, 'place')} more",))


def _lines(text: str, place: Place) -> str:
    """The lines of an expression, without the indentation that they share."""
    lines = LineTable(text)
    first, last = place.span.start.line, place.span.end.line
    shown = [lines.line(line) for line in range(first, min(last + 1, first + _SNIPPET))]
    indents = [len(line) - len(line.lstrip()) for line in shown if line.strip()]
    indent = min(indents, default=0)
    kept = [line[indent:].rstrip() for line in shown]
    if last - first >= _SNIPPET:
        kept.append("...")
    return "\n".join(kept).strip("\n")


def _row(document: Document, node: int) -> tuple[tuple[Inline, ...], ...]:
    listing = document.listing
    facts = listing.nodes[node]
    place = next(listing.places(facts.origin), None)
    return (
        (node_link(document, node),),
        (facts.opcode,),
        (Code(facts.target),),
        _arguments(document, facts.args),
        _keywords(document, facts.kwargs),
        (str(len(facts.users)),),
        (shape_of(facts.value),),
        (dtype_of(facts.value),),
        (place_link(place),) if place else (),
    )


def _arguments(document: Document, args: Sequence[Pieces]) -> tuple[Inline, ...]:
    parts: list[Inline] = []
    for pieces in args:
        parts += [", "] if parts else []
        parts += _written(document, pieces)
    return _bounded(parts)


def _keywords(
    document: Document, kwargs: Sequence[tuple[str, Pieces]]
) -> tuple[Inline, ...]:
    parts: list[Inline] = []
    for name, pieces in kwargs:
        parts += [", "] if parts else []
        parts += [Code(f"{name}="), *_written(document, pieces)]
    return _bounded(parts)


def _users(document: Document, users: Sequence[int]) -> tuple[Inline, ...]:
    parts: list[Inline] = [f"{len(users)}"]
    for number, user in enumerate(users[:_NAMES]):
        parts += [", " if number else ": ", node_link(document, user)]
    if len(users) > _NAMES:
        parts.append(f", … and {len(users) - _NAMES} more")
    return tuple(parts)


def _written(document: Document, pieces: Pieces) -> list[Inline]:
    return [
        node_link(document, piece) if isinstance(piece, int) else Code(piece)
        for piece in pieces
    ]


def _bounded(parts: list[Inline]) -> tuple[Inline, ...]:
    """As many of the parts as a reader can take in."""
    kept: list[Inline] = []
    room = _CHARACTERS
    for part in parts:
        text = part if isinstance(part, str) else part.text
        if len(text) > room:
            clipped = text[:room] + "…"
            kept.append(Code(clipped) if isinstance(part, Code) else "…")
            break
        kept.append(part)
        room -= len(text)
    return tuple(kept)


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS else line[:_CHARACTERS] + "…"
