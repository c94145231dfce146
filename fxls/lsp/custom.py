"""The requests and commands that are ours, as `docs/protocol.md` describes them."""

from __future__ import annotations

from typing import Any

import msgspec

from fxls.ide.listing.document import Document
from fxls.listing import Failure
from fxls.lsp.item import Item
from fxls.lsp.uris import uri_of

__all__ = [
    "CHANGED",
    "CONTENT",
    "DEBUG",
    "DELETE",
    "FIRST_PASS",
    "FIT_ENTRY",
    "GRAPH",
    "GUARDS",
    "IDENTITIES",
    "LISTINGS",
    "NORMALIZED",
    "OPEN",
    "REVISED",
    "REVISIONS",
    "ROWS",
    "RUN",
    "RUNS",
    "RUN_LIST",
    "SHOW_REFERENCES",
    "STATUS",
    "TABLE",
    "TIMES",
    "TRACE",
    "TRY_REPAIRS",
    "WRITE_ENTRY",
    "Changed",
    "ContentItem",
    "DeletedItem",
    "IdentityItem",
    "KernelItem",
    "ListingItem",
    "Revised",
    "RevisionItem",
    "RunsChanged",
    "StatusItem",
    "TimesItem",
    "TracedItem",
    "TriedItem",
    "listing_item",
    "plainly",
]

LISTINGS = "fxls/listings"
"""Request: the listings about a source."""

CONTENT = "fxls/content"
"""Request: the text of an `fxls:` document."""

IDENTITIES = "fxls/identities"
"""Request: what the stores hold."""

REVISIONS = "fxls/revisions"
"""Request: the revisions of an identity, of one pass."""

GRAPH = "fxls/graph"
"""Request: the nodes, edges and submodules of a listing."""

TIMES = "fxls/times"
"""Request: how long each node of a listing takes, measured for the question."""

ROWS = "fxls/table"
"""Request: the table of a listing, as rows."""

NORMALIZED = "fxls/normalized"
"""Request: the text of a listing, to be compared."""

DIFF = "fxls/diff"
"""Request: what is different between two listings."""

RUN_LIST = "fxls/runs"
"""Request: the runs that the stores have the records of."""

RUN = "fxls/run"
"""Request: what a run did."""

DELETE = "fxls/delete"
"""Request: delete a listing, or an identity with all of its listings."""

CHANGED = "fxls/changed"
"""Notification: the stores hold something else than before."""

REVISED = "fxls/revised"
"""Notification: an identity has a newer revision."""

RUNS = "fxls/runsChanged"
"""Notification: there are other runs than before, or runs say more."""

STATUS = "experimental/serverStatus"
"""Notification: how the server is, as clients of rust-analyzer know it."""

TRACE = "fxls.trace"
"""Command: run the entries of a source, because the user asked for it."""

OPEN = "fxls.open"
"""Command: show a place in the client."""

TABLE = "fxls.table"
"""Command: the table of a listing, as a document."""

FIRST_PASS = "fxls.firstPass"
"""Command: the first pass that did something to the graph of a listing."""

GUARDS = "fxls.guards"
"""Command: the guards of the newest run, as a document."""

TRY_REPAIRS = "fxls.tryRepairs"
"""Command: tries what can repair a place of a source, and says what came of it."""

FIT_ENTRY = "fxls.fitEntry"
"""Command: look for inputs with which an entry comment's model runs."""

WRITE_ENTRY = "fxls.writeEntry"
"""Command: write an entry comment for a class."""

DEBUG = "fxls.debug"
"""Command of the client: debug an entry in its generated code."""

SHOW_REFERENCES = "fxls.showReferences"
"""Command of the client: show places beside the code."""


class ContentItem(Item, frozen=True):
    """The text of a document."""

    text: str


class KernelItem(Item, frozen=True):
    """A call of a kernel, and the nodes that share its time."""

    nanoseconds: int
    nodes: tuple[int, ...]
    shared_by: int
    """How many nodes it computes, also where the graph does not have them."""


class TimesItem(Item, frozen=True):
    """How long each node takes, or why nobody can say."""

    nanoseconds: tuple[int, ...] = ()
    """In the order of the graph."""
    problem: str | None = None
    kernels: tuple[KernelItem, ...] = ()
    """Where kernels were measured, and not nodes: each once."""
    calls: int = 0
    """So many calls of the code were measured, where a run measured them."""


class IdentityItem(Item, frozen=True):
    """An identity of a store, and its newest revision."""

    document: str
    """The URI of the virtual document that always shows the newest revision."""
    uri: str
    """The newest revision."""
    path: str
    module: str
    qualname: str
    producer: str
    time: float
    """When the newest revision was made, in seconds since 1970."""
    revisions: int
    """How many there are."""
    sources: list[str]
    """The URIs of the files that it was made of, as far as nodes have them."""
    stage: str = ""
    rank: int | None = None
    nodes: int | None = None
    entry: str | None = None
    stale: bool = False
    """Whether a source changed since."""


class RevisionItem(Item, frozen=True):
    """A revision of an identity."""

    uri: str
    path: str
    document: str
    """The URI of the virtual document that shows this revision."""
    time: float
    nodes: int | None = None
    entry: str | None = None
    made_by: str | None = None
    """The name of the pass that left it."""
    ordinal: int | None = None
    """Which of the passes with its name in the step that is."""
    change: str | None = None
    """How many nodes the pass made, erased and altered: ``+1 -1 ~2``."""
    compilation: str | None = None
    """torch's name of the compilation that the pass was a part of."""


class DeletedItem(Item, frozen=True):
    """What was deleted."""

    deleted: list[str]
    """The URIs of the listings that are gone."""
    problem: str | None = None
    """Why not all of it is."""


class Changed(Item, frozen=True):
    """That identities have other revisions than before, or are gone."""

    documents: list[str]
    """The URIs of their virtual documents."""


class RunsChanged(Item, frozen=True):
    """That a run began, or that its record says more."""

    runs: list[str]
    """Their ids, as `fxls runs` has them."""


class ListingItem(Item, frozen=True):
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


class TriedItem(Item, frozen=True):
    """What came of a repair that was tried."""

    title: str
    holds: bool
    """Whether there is a problem less, and all else is as in eager."""
    said: str


class TracedItem(Item, frozen=True):
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


class Revised(Item, frozen=True):
    """That an identity has a newer revision, and where its nodes went."""

    old: str
    """The URI of the listing that was the newest."""
    new: str
    lines: list[tuple[int, int]]
    """The line of each node that both have, in the old and in the new listing."""


class StatusItem(Item, frozen=True):
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


def plainly(item: msgspec.Struct) -> Any:
    """An item as JSON types."""
    return msgspec.to_builtins(item)
