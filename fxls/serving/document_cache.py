"""The documents that stay in memory."""

from __future__ import annotations

from collections.abc import Iterator

from fxls.ide.listing.document import Document
from fxls.listing import Listing

__all__ = ["DocumentCache"]

_KEPT, _NODES = 64, 1_000_000
"""Documents whose tables stay in memory, and how many nodes these may have."""

_KEPT_REVISIONS = 8
"""So many of one identity and entry stay."""


class DocumentCache:
    """Documents by their paths, those that were asked for last at the end."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents.values())

    def keep(self, path: str, listing: Listing) -> Document:
        """The document of a listing, with the tables that were made for it before."""
        known = self._documents.pop(path, None)
        if known is None or known.listing is not listing:
            known = Document(path, listing)
        self._documents[path] = known
        about = (listing.identity, listing.entry)
        same = [
            path
            for path, one in self._documents.items()
            if (one.listing.identity, one.listing.entry) == about
        ]
        for path in same[:-_KEPT_REVISIONS]:
            del self._documents[path]
        nodes = sum(len(one.listing.nodes) for one in self._documents.values())
        for path in list(self._documents)[:-1]:
            if len(self._documents) <= _KEPT and nodes <= _NODES:
                break
            nodes -= len(self._documents.pop(path).listing.nodes)
        return known
