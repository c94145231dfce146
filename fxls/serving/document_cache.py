"""The documents that stay in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fxls.ide.listing.document import Document
from fxls.listing import Identity, Listing
from fxls.recently_used import RecentlyUsed
from fxls.serving.made_first import (
    MANY_NODES,
    can_begin_again,
    made_first,
    read_first,
)

__all__ = ["DocumentCache", "with_tables"]

_KEPT, _NODES = 64, 1_000_000
"""Documents whose tables stay in memory, and how many nodes these may have."""

_KEPT_REVISIONS = 8
"""So many of one identity and entry stay."""


class DocumentCache:
    """Documents by their paths, those that were asked for last at the end."""

    def __init__(self) -> None:
        self._documents = RecentlyUsed[str, Document](
            size_of=_nodes_of,
            largest=_NODES,
            about=_about,
            most_about=_KEPT_REVISIONS,
            most=_KEPT,
        )

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents)

    def keep(self, path: str, listing: Listing) -> Document:
        """The document of a listing, with the tables that were made for it before."""
        known = self._documents.get(path)
        if known is None or known.listing is not listing:
            known = Document(path, listing)
        self._documents.keep(path, known)
        return known

    def read(self, path: str, read: Callable[[], Listing], facts: str = "") -> Document:
        """The document of a listing that is read from a store, with these facts or with
        the newest.
        """
        return self.keep(path, read_first(("listing", path, facts), read))


def with_tables(document: Document) -> Document:
    """A document that is asked about itself, with the tables for that: those of a long
    one are made in a thread.
    """
    is_long = len(document.listing.nodes) >= MANY_NODES
    if is_long and not document.has_tables and can_begin_again():
        made_first(("tables", document), document.make_tables)
    return document


def _nodes_of(document: Document) -> int:
    return len(document.listing.nodes)


def _about(document: Document) -> tuple[Identity, str | None]:
    return document.listing.identity, document.listing.entry
