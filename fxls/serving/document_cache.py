"""The documents that stay in memory."""

from __future__ import annotations

from collections.abc import Iterator

from fxls.ide.listing.document import Document
from fxls.listing import Identity, Listing

__all__ = ["DocumentCache"]

_KEPT, _NODES = 64, 1_000_000
"""Documents whose tables stay in memory, and how many nodes these may have."""

_KEPT_REVISIONS = 8
"""So many of one identity and entry stay."""


_About = tuple[Identity, str | None]


class DocumentCache:
    """Documents by their paths, those that were asked for last at the end.

    A source may have thousands of listings: nothing here walks over all that are kept.
    """

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._revisions: dict[_About, dict[str, None]] = {}
        self._nodes = 0

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents.values())

    def keep(self, path: str, listing: Listing) -> Document:
        """The document of a listing, with the tables that were made for it before."""
        known = self._take(path)
        if known is None or known.listing is not listing:
            known = Document(path, listing)
        self._documents[path] = known
        self._nodes += len(listing.nodes)
        revisions = self._revisions.setdefault(_about(known), {})
        revisions[path] = None
        while len(revisions) > _KEPT_REVISIONS:
            self._take(next(iter(revisions)))
        while self._is_full() and len(self._documents) > 1:
            self._take(next(iter(self._documents)))
        return known

    def _is_full(self) -> bool:
        return len(self._documents) > _KEPT or self._nodes > _NODES

    def _take(self, path: str) -> Document | None:
        taken = self._documents.pop(path, None)
        if taken is not None:
            self._nodes -= len(taken.listing.nodes)
            revisions = self._revisions[_about(taken)]
            del revisions[path]
            if not revisions:
                del self._revisions[_about(taken)]
        return taken


def _about(document: Document) -> _About:
    return document.listing.identity, document.listing.entry
