"""Where the lines of a listing are in another one, for tabs and breakpoints."""

from __future__ import annotations

from fxls.graph_diff.node_matching import aligned
from fxls.ide.listing.document import Document

__all__ = ["moved_lines"]


def moved_lines(old: Document | None, new: Document | None) -> list[tuple[int, int]]:
    """The line of each node that two listings both have; none where one is gone."""
    if old is None or new is None:
        return []
    before, after = old.listing, new.listing
    pairs = {(before.definition, after.definition)}
    pairs |= {
        (before.nodes[there].line, after.nodes[node].line)
        for node, there in aligned(before, after).items()
    }
    return sorted(pairs)
