"""The places of a document that lead somewhere by a click."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from fxls.ide.listing.definitions import SourceText, class_of_graph
from fxls.ide.listing.document import Destination, Document
from fxls.text import Span

__all__ = ["DocumentLink", "links"]

_LISTING = re.compile(r"\b\w+_[0-9a-f]{12}\.py\b")
_LINE = re.compile(r"\b(?P<name>[^\s,]+\.py), line (?P<line>\d+)")


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A span that leads to a place."""

    span: Span
    there: Destination
    tip: str


def links(document: Document, source: SourceText) -> tuple[DocumentLink, ...]:
    """In the head of a listing: the class, other listings, and lines of the source."""
    return (*_class(document, source), *_head(document))


def _class(document: Document, source: SourceText) -> Iterator[DocumentLink]:
    """The name of the class in the first line, to the class."""
    name = document.listing.identity.class_name
    head = document.lines.line(0)
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", head)
    if not head.startswith("#") or match is None:
        return
    there = class_of_graph(document, source)
    if there is not None:
        yield DocumentLink(_span(0, match), there, f"the source of {name}")


def _head(document: Document) -> Iterator[DocumentLink]:
    """What the comment above the code names: the graph that this one was made from, and
    where it ends.
    """
    folder = PurePath(document.path).parent
    is_file = not document.path.startswith("fxls:")
    sources = {PurePath(s.path).name: s.path for s in document.listing.sources}
    for line in range(document.listing.definition):
        text = document.lines.line(line)
        if not text.startswith("#"):
            return
        for match in _LISTING.finditer(text) if is_file else ():
            top = Span.of(0, 0, 0, 0)
            there = Destination(str(folder / match[0]), top, top)
            yield DocumentLink(_span(line, match), there, "the graph it was made from")
        for match in _LINE.finditer(text):
            path = sources.get(match["name"])
            if path is not None:
                at = int(match["line"]) - 1
                place = Span.of(at, 0, at, 0)
                there = Destination(path, place, place)
                yield DocumentLink(_span(line, match), there, "where the graph ends")


def _span(line: int, match: re.Match[str]) -> Span:
    return Span.of(line, match.start(), line, match.end())
