"""From an expression of the source to the nodes that it made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from fxls.entry import Entry, Producer
from fxls.ide.entries.entries import comment_at
from fxls.ide.listing.card import Block, Field, Hover, Inline, Line, Link
from fxls.ide.listing.document import Document, Jump
from fxls.ide.listing.submodule_calls import Part, parts
from fxls.ide.listing.wording import counted, node_line, node_link
from fxls.ide.syntax.edits import Moves
from fxls.ide.syntax.module_classes import class_at
from fxls.text import LineTable, Point, Span

__all__ = [
    "Made",
    "SourceFile",
    "definition",
    "hover",
    "implementation",
    "listings_from",
    "listings_of",
    "made_at",
    "title",
]

_NODES = 24
_PLACES = 1_000
"""More places than this no editor shows at once: an expression of a loop may have more.
"""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the user's, and the listings that have origins in it."""

    path: str
    lines: LineTable
    documents: tuple[Document, ...]
    spellings: frozenset[str] = frozenset()
    """Other paths by which the listings call it, through links for example."""
    moves: Mapping[str, Moves] = field(default_factory=dict[str, Moves])
    """By the path of a listing: the edits of the file since that was made, if any."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path by which it is called, the own one first."""
        return (self.path, *self.spellings - {self.path})


@dataclass(frozen=True, slots=True)
class Made:
    """The nodes of one listing that an expression of a source made."""

    document: Document
    span: Span
    """The expression."""
    nodes: tuple[int, ...]
    """In the order of the graph; never empty."""


def made_at(source: SourceFile, point: Point) -> tuple[Made, ...]:
    """What the innermost expression under a cursor made, listing by listing.

    A place in a function that was called stands for all that its calls made, and a
    call of a submodule or function for all that was made below it.
    """
    spans: dict[Span, list[tuple[Document, int]]] = {}
    for document in source.documents:
        for span, frame in _touched(source, document, point):
            spans.setdefault(span, []).append((document, frame))
    if not spans:
        return ()
    innermost = min(spans, key=lambda span: _size(span, point))
    found: dict[Document, set[int]] = {}
    for document, frame in spans[innermost]:
        found.setdefault(document, set()).update(document.nodes_through(frame))
    return tuple(
        Made(document, innermost, tuple(sorted(nodes)))
        for document, nodes in found.items()
        if nodes
    )


def hover(source: SourceFile, point: Point) -> Hover | None:
    """What the code under a cursor became, with links and shapes.

    On an expression its nodes; on an entry comment and on the name of a class the
    listings that were made of it, else its calls in those of other classes.
    """
    named = _named(source, point)
    if named is not None:
        span, documents = named
        return Hover(span, tuple(Line(_listing_line(d)) for d in documents))
    span, called = _called(source, point)
    if called:
        return Hover(span, tuple(block for part in called for block in _calls(part)))
    found = made_at(source, point)
    if not found:
        return None
    card = [block for made in found for block in _made_blocks(made)]
    if any(made.document.path in source.moves for made in found):
        card.append(Line(("The file was edited since this was traced.",)))
    return Hover(found[0].span, tuple(card))


def implementation(source: SourceFile, point: Point) -> Jump | None:
    """Where the nodes that the expression under a cursor made are bound.

    From an entry comment and the name of a class: the ``def`` of their listings, else
    the first node of each call of the class.
    """
    named = _named(source, point)
    if named is not None:
        span, documents = named
        return Jump(span, tuple(document.start for document in documents))
    span, called = _called(source, point)
    if called:
        places = (there for part in called for _, there in part.calls)
        return Jump(span, tuple(islice(places, _PLACES)))
    found = made_at(source, point)
    if not found:
        return None
    nodes = ((made.document, node) for made in found for node in made.nodes)
    there = (document.destination(node) for document, node in islice(nodes, _PLACES))
    return Jump(found[0].span, tuple(there))


def definition(source: SourceFile, point: Point) -> Jump | None:
    """As `implementation`, but only where no Python server has an answer of its own.

    An editor shows the definitions of all its servers together, so on a name ours
    would turn a jump to the name's definition into a list to choose from. Operators,
    brackets and entry comments have no other definition.
    """
    if comment_at(source.lines.text, source.path, point) is None:
        line = source.lines.line(point.line)
        around = line[max(point.column - 1, 0) : point.column + 1]
        if any(character.isalnum() or character in "_\"'" for character in around):
            return None
    return implementation(source, point)


def listings_from(source: SourceFile, entry: Entry) -> list[Document]:
    """The listings that an entry made."""
    return [
        document
        for document in source.documents
        if document.listing.entry == entry.expression
        and _makes(entry.producer, document.listing.identity.producer)
    ]


def _makes(producer: Producer, name: str) -> bool:
    """Whether listings of a producer have this name; torch.compile has several."""
    if producer is Producer.COMPILE:
        return name not in (Producer.ENGINE.value, Producer.EXPORT.value)
    return name == producer.value


def listings_of(source: SourceFile, name: str) -> list[Document]:
    """The listings of a class of the file."""
    return [d for d in source.documents if d.listing.identity.class_name == name]


def title(document: Document) -> str:
    """``Net``, with what sets it apart from other listings of the class."""
    identity = document.listing.identity
    words = [identity.qualname]
    if identity.producer != "engine":
        words.append(identity.producer)
    if identity.stage:
        words.append(identity.stage)
    if identity.rank is not None:
        words.append(f"rank {identity.rank}")
    return ", ".join(words)


def _touched(
    source: SourceFile, document: Document, point: Point
) -> Iterator[tuple[Span, int]]:
    """The frames whose expression is under a cursor, with its span in this text."""
    moves = source.moves.get(document.path)
    before = moves.before(point) if moves else point
    if before is None:
        return
    for path in source.paths:
        for frame in document.frames_on(path, before.line):
            span = document.listing.frames[frame].span
            if span.touches(before):
                now = moves.after(span) if moves else span
                if now is not None:
                    yield now, frame


def _named(
    source: SourceFile, point: Point
) -> tuple[Span, tuple[Document, ...]] | None:
    """The listings of an entry comment or class name; None when there are none."""
    entry = comment_at(source.lines.text, source.path, point)
    if entry is not None and entry.span is not None:
        span = entry.span
        found = listings_from(source, entry)
    else:
        named = class_at(source.lines, point)
        if named is None:
            return None
        name, span = named
        found = listings_of(source, name)
    return (span, tuple(found)) if found else None


def _called(source: SourceFile, point: Point) -> tuple[Span, list[Part]]:
    """The calls of the class whose name is under a cursor."""
    named = class_at(source.lines, point)
    if named is None:
        return Span(point, point), []
    name, span = named
    return span, parts(source.documents, source.paths).get(name, [])


def _calls(part: Part) -> Iterator[Block]:
    yield Line((f"{counted(len(part.calls), 'call')} in {title(part.document)}",))
    for path, there in part.calls[:_NODES]:
        yield Field("", (Link(path, there.path, there.focus.start),))
    if len(part.calls) > _NODES:
        yield Line((f"… and {len(part.calls) - _NODES:,} more",))


def _listing_line(document: Document) -> tuple[Inline, ...]:
    start = document.start
    count = counted(len(document.listing.nodes), "node")
    link = Link("forward", start.path, start.focus.start)
    return ("generated ", link, f" of {title(document)}: {count}")


def _made_blocks(made: Made) -> Iterator[Block]:
    yield Line((f"{counted(len(made.nodes), 'node')} of {title(made.document)}",))
    for node in made.nodes[:_NODES]:
        link = node_link(made.document, node)
        yield Field("", (link, ": ", *node_line(made.document, node)))
    if len(made.nodes) > _NODES:
        yield Line((f"… and {len(made.nodes) - _NODES:,} more",))


def _size(span: Span, point: Point) -> tuple[bool, int, int]:
    """Smaller is more inner; a span that ends at the cursor comes after all others."""
    lines = span.end.line - span.start.line
    columns = span.end.column - (0 if lines else span.start.column)
    return span.end == point, lines, columns
