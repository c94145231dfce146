"""The listings of a store that stay decoded in memory."""

from __future__ import annotations

from dataclasses import dataclass

from fxls.listing import Identity, Listing
from fxls.recently_used import RecentlyUsed
from fxls.store.files import Signature

__all__ = ["Kept", "KeptListings"]

_BOUND = 32 << 20
"""How many bytes of sidecars stay; the last one always does."""

_REVISIONS = 8
"""So many of one identity and entry do: a model that is edited all day has thousands."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A listing, and what the system said of its sidecar when it was read."""

    signature: Signature
    listing: Listing


class KeptListings(RecentlyUsed[str, Kept]):
    """By the paths of sidecars."""

    def __init__(self) -> None:
        super().__init__(
            size_of=_bytes_of, largest=_BOUND, about=_about, most_about=_REVISIONS
        )


def _bytes_of(kept: Kept) -> int:
    return kept.signature.size


def _about(kept: Kept) -> tuple[Identity, str | None]:
    return kept.listing.identity, kept.listing.entry
