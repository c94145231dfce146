"""The lines that an editor writes above the code, to be clicked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fxls.counted import counted
from fxls.entry import Entry, Kind
from fxls.ide.entries.entries import commented, names_of
from fxls.ide.listing.definitions import SourceText, class_of_graph
from fxls.ide.listing.document import Destination, Document
from fxls.ide.listing.freshness import Freshness
from fxls.ide.listing.submodule_calls import parts
from fxls.ide.listing.wording import place_link, title
from fxls.ide.source.source_file import SourceFile, listings_from, listings_of
from fxls.ide.syntax.module_classes import modules
from fxls.listing import About, Role
from fxls.text import Span

__all__ = [
    "MOST",
    "Act",
    "DebugEntry",
    "Lens",
    "OpenPlace",
    "PeekPlaces",
    "ShowTable",
    "TraceEntry",
    "WriteEntry",
    "lenses",
]
__all__ += ["node_lenses", "source_lenses"]

MOST = 5000
"""A listing with more nodes has no lenses on them."""

_LONGEST = 100
"""Characters of a reason that fit above a line."""

_PARTS = 3
"""A class leads to so many graphs that it is a part of."""

_LISTINGS = 3
"""A class has lenses of so many listings; torch.compile makes one for each stage."""


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """Go to a place."""

    there: Destination


@dataclass(frozen=True, slots=True)
class PeekPlaces:
    """Show places beside the code."""

    span: Span
    destinations: tuple[Destination, ...]


@dataclass(frozen=True, slots=True)
class ShowTable:
    """Show the table of a listing."""

    path: str


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """Trace an entry."""

    path: str
    expression: str


@dataclass(frozen=True, slots=True)
class DebugEntry:
    """Run an entry with a debugger that stops in its generated code."""

    path: str
    expression: str
    listing: str | None


@dataclass(frozen=True, slots=True)
class WriteEntry:
    """Write an entry comment for a class."""

    path: str
    name: str


Act = OpenPlace | PeekPlaces | ShowTable | TraceEntry | DebugEntry | WriteEntry


@dataclass(frozen=True, slots=True)
class Lens:
    """A title above the line of a span; without an act it only says something."""

    span: Span
    title: str
    act: Act | None = None


def lenses(
    document: Document, freshness: Freshness, source: SourceText
) -> tuple[Lens, ...]:
    """What stands above the ``def`` of a listing."""
    listing, span = document.listing, document.start.focus
    found = [
        Lens(span, counted(len(listing.nodes), "node"), ShowTable(document.path)),
    ]
    there = class_of_graph(document, source)
    if there is not None:
        found.append(Lens(span, f"from {listing.identity.qualname}", OpenPlace(there)))
    if freshness.newest is not None:
        title = "earlier revision: go to the newest"
        found.append(Lens(span, title, OpenPlace(freshness.newest.start)))
    elif freshness.is_gone:
        found.append(Lens(span, "stale: its source is gone"))
    elif (
        freshness.changed
        and listing.entry is not None
        and (path := listing.entry_path or (there and there.path))
    ):
        title = "stale: trace again"
        found.append(Lens(span, title, TraceEntry(path, listing.entry)))
    elif freshness.changed:
        found.append(Lens(span, "stale"))
    return tuple(found)


def node_lenses(document: Document) -> Iterator[Lens]:
    """Who reads each node, and where it came from; none in a very long listing."""
    listing = document.listing
    if len(listing.nodes) > MOST:
        return
    for node, facts in enumerate(listing.nodes):
        span = document.destination(node).focus
        if facts.opcode != "output" and facts.line != listing.definition:
            reads = [m for m in document.marks_of(node) if m.role is Role.READS]
            places = (Destination(document.path, m.span, m.span) for m in reads)
            title = counted(len(facts.users), "user")
            yield Lens(span, title, PeekPlaces(span, tuple(places)))
        place = next(listing.places(facts.origin), None)
        if place is not None:
            there = Destination(place.path, place.span, place.span)
            yield Lens(span, place_link(place).text, OpenPlace(there))


def source_lenses(source: SourceFile, entries: tuple[Entry, ...]) -> Iterator[Lens]:
    """What can be done with the entries and module classes of a source."""
    for entry in entries:
        if entry.span is None:
            continue
        found = listings_from(source, entry)
        yield from _entry_lenses(entry, entry.span, found)
    text = source.lines.text
    shown = {entry.span for entry in entries}
    named = commented(text).union(*(names_of(entry.expression) for entry in entries))
    inner = parts(source.documents, source.paths)
    for module in modules(text):
        if module.span in shown:
            continue
        for part in inner.get(module.name, ())[:_PARTS]:
            calls = counted(len(part.calls), "call")
            first = part.calls[0][1]
            yield Lens(
                module.span, f"{calls} in {title(part.document)}", OpenPlace(first)
            )
        # One that needs no arguments is an entry itself, but not where a package is
        # installed.
        if not (module.name in named or module.name in inner):
            offer = "Write an example call to trace"
            yield Lens(module.span, offer, WriteEntry(source.path, module.name))
        yield from _listing_lenses(module.span, listings_of(source, module.name))


def _listing_lenses(span: Span, documents: list[Document]) -> Iterator[Lens]:
    """The listings of a class, those first that were captured and made of no other."""
    documents = sorted(documents, key=lambda one: one.listing.identity.stage.count(","))
    for document in documents[:_LISTINGS]:
        shown_as = f"generated code of {title(document)}"
        yield Lens(span, shown_as, OpenPlace(document.start))
    rest = documents[_LISTINGS:]
    if rest:
        places = tuple(document.start for document in rest)
        yield Lens(span, counted(len(rest), "more listing"), PeekPlaces(span, places))


def _entry_lenses(
    entry: Entry, span: Span, documents: list[Document]
) -> Iterator[Lens]:
    name = "Trace" if entry.kind is Kind.COMMENT else f"Trace {entry.name}"
    yield Lens(span, name, TraceEntry(entry.path, entry.name))
    for document in documents[:1]:
        yield Lens(span, "Show generated code", OpenPlace(document.start))
        for remark in document.listing.remarks:
            if remark.about is About.INSTEAD:
                who = document.listing.identity.producer
                yield Lens(span, f"captured by {who}: {_cut(remark.reason)}")
    listing = documents[0].path if documents else None
    yield Lens(
        span, "Debug generated code", DebugEntry(entry.path, entry.name, listing)
    )
    for document in documents[:1]:
        nodes = counted(len(document.listing.nodes), "node")
        yield Lens(span, f"Table ({nodes})", ShowTable(document.path))
    if entry.kind is Kind.CLASS:
        # It is traced without inputs.
        name = entry.expression.removesuffix("()")
        yield Lens(
            span, "Write an example call to see shapes", WriteEntry(entry.path, name)
        )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
