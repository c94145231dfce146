"""The requests and commands that are ours, as `docs/protocol.md` describes them."""

from __future__ import annotations

from typing import Any

import msgspec

from fxls.ide.document import Document
from fxls.listing import Failure
from fxls.lsp.uris import uri_of

__all__ = [
    "CONTENT",
    "DEBUG",
    "LISTINGS",
    "OPEN",
    "REVISED",
    "SHOW_REFERENCES",
    "STATUS",
    "TABLE",
    "TRACE",
    "ListingItem",
    "Revised",
    "StatusItem",
    "TracedItem",
    "listing_item",
    "plainly",
]

LISTINGS = "fxls/listings"
"""Request: the listings about a source."""

CONTENT = "fxls/content"
"""Request: the text of an `fxls:` document."""

REVISED = "fxls/revised"
"""Notification: an identity has a newer revision."""

STATUS = "experimental/serverStatus"
"""Notification: how the server is, as clients of rust-analyzer know it."""

TRACE = "fxls.trace"
"""Command: run the entries of a source, because the user asked for it."""

OPEN = "fxls.open"
"""Command: show a place in the client."""

TABLE = "fxls.table"
"""Command: the table of a listing, as a document."""

DEBUG = "fxls.debug"
"""Command of the client: debug an entry in its generated code."""

SHOW_REFERENCES = "fxls.showReferences"
"""Command of the client: show places beside the code."""


class ListingItem(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A listing of the store."""

    uri: str
    path: str
    module: str
    qualname: str
    producer: str
    nodes: int
    document: str
    """The URI of the virtual document that always shows the newest revision."""
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


class Revised(msgspec.Struct, frozen=True, rename="camel"):
    """That an identity has a newer revision, and where its nodes went."""

    old: str
    """The URI of the listing that was the newest."""
    new: str
    lines: list[tuple[int, int]]
    """The line of each node that both have, in the old and in the new listing."""


class StatusItem(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """How the server is."""

    health: str
    """``ok``, ``warning`` or ``error``."""
    quiescent: bool
    """Whether nothing is being traced."""
    message: str | None = None


def listing_item(document: Document, document_uri: str) -> ListingItem:
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
        document_uri,
        identity.stage,
        identity.rank,
        listing.entry,
    )


def plainly(item: ListingItem | TracedItem | Revised | StatusItem) -> Any:
    """An item as JSON types."""
    return msgspec.to_builtins(item)
