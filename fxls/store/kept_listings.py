"""The listings of a store that stay decoded in memory.

A source may have thousands of listings: nothing here walks over all that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from fxls.listing import Identity, Listing
from fxls.store.files import Signature

__all__ = ["Kept", "KeptListings"]

_BOUND = 32 << 20
"""How many bytes of sidecars stay; the last one always does."""

_REVISIONS = 8
"""So many of one identity and entry do: a model that is edited all day has thousands."""

_About = tuple[Identity, str | None]


@dataclass(frozen=True, slots=True)
class Kept:
    """A listing, and what the system said of its sidecar when it was read."""

    signature: Signature
    listing: Listing


class KeptListings:
    """By the paths of sidecars; more than one thread may ask."""

    def __init__(self) -> None:
        self._kept: dict[Path, Kept] = {}
        """Those that were asked for last at the end, also in `_revisions`."""
        self._revisions: dict[_About, dict[Path, None]] = {}
        self._bytes = 0
        self._lock = Lock()

    def get(self, facts: Path) -> Kept | None:
        return self._kept.get(facts)

    def keep(self, facts: Path, kept: Kept) -> tuple[Path, ...]:
        """Keep one as the latest; returns the sidecars that had to go for it."""
        gone: list[Path] = []
        with self._lock:
            self._take(facts)
            self._kept[facts] = kept
            self._bytes += kept.signature.size
            revisions = self._revisions.setdefault(_about(kept), {})
            revisions[facts] = None
            while len(revisions) > _REVISIONS:
                gone.append(self._first(revisions))
            while self._bytes > _BOUND and len(self._kept) > 1:
                gone.append(self._first(self._kept))
        return (*gone,)

    def _first(self, among: dict[Path, None] | dict[Path, Kept]) -> Path:
        """Let go of what was not asked for the longest."""
        facts = next(iter(among))
        self._take(facts)
        return facts

    def _take(self, facts: Path) -> None:
        kept = self._kept.pop(facts, None)
        if kept is not None:
            self._bytes -= kept.signature.size
            revisions = self._revisions[_about(kept)]
            del revisions[facts]
            if not revisions:
                del self._revisions[_about(kept)]


def _about(kept: Kept) -> _About:
    return kept.listing.identity, kept.listing.entry
