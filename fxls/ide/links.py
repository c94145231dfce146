"""The places of a document that lead somewhere by a click."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fxls.ide.classes import SourceText, class_of_graph
from fxls.ide.document import Destination, Document
from fxls.text import Span

__all__ = ["DocumentLink", "links"]


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A span that leads to a place."""

    span: Span
    there: Destination
    tip: str


def links(document: Document, source: SourceText) -> tuple[DocumentLink, ...]:
    """The name of the class in the head of a listing, to the class."""
    name = document.listing.identity.class_name
    head = document.lines.line(0)
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", head)
    if not head.startswith("#") or match is None:
        return ()
    there = class_of_graph(document, source)
    if there is None:
        return ()
    span = Span.of(0, match.start(), 0, match.end())
    return (DocumentLink(span, there, f"the source of {name}"),)
