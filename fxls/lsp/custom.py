"""The requests and commands that are ours, as `docs/protocol.md` describes them."""

from __future__ import annotations

import msgspec

from fxls.ide.document import Document
from fxls.listing import Failure
from fxls.lsp.uris import uri_of

__all__ = ["LISTINGS", "TRACE", "ListingItem", "TracedItem", "listing_item", "plainly"]

LISTINGS = "fxls/listings"
"""Request: the listings about a source."""

TRACE = "fxls.trace"
"""Command: run the entries of a source, because the user asked for it."""


class ListingItem(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A listing of the store."""

    uri: str
    path: str
    module: str
    qualname: str
    producer: str
    nodes: int
    stage: str = ""
    rank: int | None = None
    entry: str | None = None


class TracedItem(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What became of an entry; without a `uri` it failed, for `reason`."""

    expression: str
    uri: str | None = None
    path: str | None = None
    reason: str | None = None
    message: str | None = None
    advice: str | None = None

    @staticmethod
    def traced(expression: str, path: str, trouble: Failure | None) -> TracedItem:
        return TracedItem(
            expression,
            uri_of(path),
            path,
            trouble.reason.value if trouble else None,
            trouble.message if trouble else None,
            trouble.advice if trouble else None,
        )

    @staticmethod
    def failed(expression: str, failure: Failure) -> TracedItem:
        return TracedItem(
            expression,
            reason=failure.reason.value,
            message=failure.message,
            advice=failure.advice,
        )


def listing_item(document: Document) -> ListingItem:
    """A listing as an item of `fxls/listings`."""
    listing = document.listing
    identity = listing.identity
    return ListingItem(
        uri_of(document.path),
        document.path,
        identity.module,
        identity.qualname,
        identity.producer,
        len(listing.nodes),
        identity.stage,
        identity.rank,
        listing.entry,
    )


def plainly(item: ListingItem | TracedItem) -> object:
    """An item as JSON types."""
    return msgspec.to_builtins(item)
