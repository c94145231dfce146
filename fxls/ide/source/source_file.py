"""A file of the user's, and the listings that have origins in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fxls.entry import Entry, Producer
from fxls.ide.listing.document import Document
from fxls.ide.syntax.line_map import LineMap
from fxls.text import LineTable

__all__ = ["SourceFile", "listings_from", "listings_of"]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the user's, and the listings that have origins in it."""

    path: str
    lines: LineTable
    documents: tuple[Document, ...]
    spellings: frozenset[str] = frozenset()
    """Other paths by which the listings call it, through links for example."""
    moves: Mapping[str, LineMap] = field(default_factory=dict[str, LineMap])
    """By the path of a listing: the edits of the file since that was made, if any."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path by which it is called, the own one first."""
        return (self.path, *self.spellings - {self.path})


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
