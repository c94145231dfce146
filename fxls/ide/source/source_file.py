"""A file of the user's, and the listings that have origins in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fxls.entry import ORDER, Entry, Producer
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
    order: tuple[Producer, ...] = ORDER
    """Who is asked first for the graph of an entry that insists on nobody."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path by which it is called, the own one first."""
        return (self.path, *self.spellings - {self.path})


def listings_from(source: SourceFile, entry: Entry) -> list[Document]:
    """The listings that an entry made: those of one producer, in the order of stages.

    When the entry insists on none, that is the first one that made a listing of the
    source as it is; a listing of an earlier text counts where there is no other.
    """
    found = [
        document
        for document in source.documents
        if document.listing.entry == entry.expression
    ]
    order = source.order if entry.producer is None else (entry.producer,)
    fresh = [document for document in found if document.path not in source.moves]
    for documents in (fresh, found):
        for producer in order:
            made = [one for one in documents if _maker(one) is producer]
            if made:
                return sorted(made, key=lambda one: one.listing.identity.stage)
    return []


def _maker(document: Document) -> Producer:
    """Who made a listing; torch.compile hands graphs to many."""
    name = document.listing.identity.producer
    return _MAKERS.get(name, Producer.COMPILE)


_MAKERS = {"engine": Producer.ENGINE, "torch.export": Producer.EXPORT}


def listings_of(source: SourceFile, name: str) -> list[Document]:
    """The listings of a class of the file."""
    return [
        document
        for document in source.documents
        if document.listing.identity.class_name == name and _is_of(source, document)
    ]


def _is_of(source: SourceFile, document: Document) -> bool:
    """Whether a node comes from the file, or none says where it came from.

    An entry of the file may be a model that is imported, and named as a class of it.
    """
    listing = document.listing
    rows = {frame.source for frame in listing.frames}
    return not rows or any(listing.sources[row].path in source.paths for row in rows)
