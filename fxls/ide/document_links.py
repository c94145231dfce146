"""The places of a document that lead somewhere by a click."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fxls.ide.listing.definitions import SourceText, class_of_graph
from fxls.ide.listing.document import Destination, Document
from fxls.ide.listing.parent import listing_beside
from fxls.listing import ToClass, ToLine, ToParent
from fxls.text import Span

__all__ = ["DocumentLink", "links"]


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A span that leads to a place."""

    span: Span
    there: Destination
    tip: str


def links(document: Document, source: SourceText) -> Iterator[DocumentLink]:
    """In the head of a listing: the class, other listings, and lines of the source."""
    for link in document.listing.links:
        match link.to:
            case ToClass():
                name = document.listing.identity.class_name
                tip = f"the source of {name}"
                there = class_of_graph(document, source)
            case ToParent(file):
                tip = "the graph it was made from"
                path = listing_beside(document, file)
                top = Span.of(0, 0, 0, 0)
                there = None if path is None else Destination(path, top, top)
            case ToLine(path, line):
                tip = "where the graph ends"
                place = Span.of(line, 0, line, 0)
                there = Destination(path, place, place)
        if there is not None:
            yield DocumentLink(link.span, there, tip)
