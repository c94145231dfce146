"""The graphs that another one was made from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from fxls.ide.listing.document import Document
from fxls.listing import How, Identity

__all__ = [
    "captured_identity",
    "captured_path",
    "is_made_since",
    "listing_beside",
    "parent_paths",
]

_GIVEN = {"placeholder", "get_attr", "output"}


def parent_paths(document: Document) -> Iterator[str]:
    """The paths of the listings that this one was made from, the nearest first."""
    for parent in document.listing.parents:
        path = listing_beside(document, parent.file)
        if path is not None:
            yield path


def captured_path(document: Document) -> str | None:
    """The path of the listing of the graph as it was captured, before all the passes that
    made this one; None when none did.
    """
    parents = document.listing.parents
    if not parents or any(parent.how is not How.PASSES for parent in parents):
        return None
    return listing_beside(document, parents[-1].file)


def captured_identity(document: Document) -> Identity:
    """The identity of the graph that this one is a stage of; its own when it is none.

    What a graph calls is a graph of its own.
    """
    found = document.listing.identity
    for parent in document.listing.parents:
        if parent.how is How.CALLED:
            break
        found = parent.identity
    return found


def listing_beside(document: Document, file: str) -> str | None:
    """The path of a listing in the same store; None for a virtual document."""
    if document.path.startswith("fxls:"):
        return None
    return str(PurePath(document.path).parent / file)


def is_made_since(document: Document, node: int, parent: Document) -> bool:
    """Whether a node was made between the two graphs: no node of the parent does that.

    One that does the same may have been moved or copied, so nothing is said of it.
    """
    facts = document.listing.nodes[node]
    if facts.opcode in _GIVEN:
        return False
    return (facts.opcode, facts.target) not in parent.calls
