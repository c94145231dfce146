"""The graph that another one was made from, as the head of a listing names it."""

from __future__ import annotations

import re
from pathlib import PurePath

from fxls.ide.listing.document import Document

__all__ = ["is_made_since", "parent_of"]

_MADE_FROM = re.compile(r"# It was made from (\w+_[0-9a-f]{12}\.py)\.")

_GIVEN = {"placeholder", "get_attr", "output"}


def parent_of(document: Document) -> str | None:
    """The path of the listing that this graph was made from; None when it was traced."""
    for line in range(document.listing.definition):
        match = _MADE_FROM.match(document.lines.line(line))
        if match is not None and not document.path.startswith("fxls:"):
            return str(PurePath(document.path).parent / match[1])
    return None


def is_made_since(document: Document, node: int, parent: Document) -> bool:
    """Whether a node was made between the two graphs: no node of the parent does that.

    One that does the same may have been moved or copied, so nothing is said of it.
    """
    facts = document.listing.nodes[node]
    if facts.opcode in _GIVEN:
        return False
    return (facts.opcode, facts.target) not in parent.calls
