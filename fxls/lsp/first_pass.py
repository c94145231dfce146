"""The answer to `fxls.firstPass`, as `docs/protocol.md` describes it."""

from __future__ import annotations

from fxls.ide.listing.document import Document
from fxls.ide.listing.recorded import said
from fxls.lsp.client import Client, Lines
from fxls.lsp.graph_view import PlaceItem, place_item
from fxls.lsp.item import Item
from fxls.lsp.uris import uri_of
from fxls.record.first_pass import Found

__all__ = ["FirstPassItem", "FirstPassesItem", "first_pass_item"]


class FirstPassItem(Item, frozen=True):
    """A pass that was the first to do what was asked, in its step."""

    name: str
    ordinal: int
    said: str
    """All of it as a sentence."""
    node: str
    reason: str
    """As a sentence without its subject: ``is replaced by add_3``."""
    before: str
    """The URI of the graph before the pass."""
    after: str
    uri: str
    """Of the two, the one that has the node; and where in it."""
    line: int
    stage: str = ""
    compilation: str | None = None
    place: PlaceItem | None = None
    """The expression of the source that the node came from."""


class FirstPassesItem(Item, frozen=True):
    """The first pass of each step, or why there is none."""

    found: tuple[FirstPassItem, ...] = ()
    unread: int = 0
    """How many passes changed a graph and have no revision that can be read."""
    problem: str | None = None


def first_pass_item(
    client: Client, found: Found, before: Document, after: Document, lines_of: Lines
) -> FirstPassItem:
    """An answer; the documents are the graph before the pass, and behind it."""
    ran = found.ran
    line, holder = _line(found.node, after), after
    if line is None:
        line, holder = _line(found.node, before) or 0, before
    return FirstPassItem(
        ran.name,
        ran.ordinal,
        said(found),
        found.node,
        found.reason,
        uri_of(before.path),
        uri_of(after.path),
        uri_of(holder.path),
        line,
        ran.stage,
        ran.compilation,
        place_item(client, found.place, lines_of) if found.place else None,
    )


def _line(name: str, document: Document) -> int | None:
    lines = (facts.line for facts in document.listing.nodes if facts.name == name)
    return next(lines, None)
