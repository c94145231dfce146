"""The documents that stay in memory."""

from __future__ import annotations

from collections.abc import Iterator

from fxls.ide.listing.document import Document
from fxls.listing import Identity, Listing
from fxls.recently_used import RecentlyUsed

__all__ = ["DocumentCache"]

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


def _nodes_of(document: Document) -> int:
    return len(document.listing.nodes)


def _about(document: Document) -> tuple[Identity, str | None]:
    return document.listing.identity, document.listing.entry
