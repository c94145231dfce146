"""The text of a listing such that a comparison with another one shows real changes.

Names are numbered by what stands above them, so that one node more renames all that
follow; and where a name is set to None depends on who reads it last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from fxls.graph_diff.node_matching import aligned
from fxls.ide.listing.document import Document
from fxls.listing import Listing, Mark, Role

__all__ = ["normalized"]


def normalized(document: Document, like: Document | None = None) -> str:
    """The text without the end of names, and with the names that nodes have in `like`.

    It has the lines of the listing: what stands on one is what stands there on it.
    """
    listing = document.listing
    names = _names(listing, like.listing) if like else [f.name for f in listing.nodes]
    lines = listing.text.split("\n")
    for line, marks in groupby(listing.marks, lambda mark: mark.line):
        if line < len(lines):  # the facts may be another text's
            lines[line] = _line(listing, lines[line], marks, names)
    return "\n".join(lines)


def _line(
    listing: Listing, text: str, marks: Iterable[Mark], names: Sequence[str]
) -> str:
    written: list[str] = []
    at = 0
    for mark in marks:
        if mark.role is Role.FREES:
            return "".join(written) + text[at : mark.column].rstrip(" ").removesuffix(
                ";"
            )
        end = mark.column + mark.length
        name = text[mark.column : end]
        if name == listing.nodes[mark.node].name:
            name = names[mark.node]
        written += (text[at : mark.column], name)
        at = end
    return "".join(written) + text[at:]


def _names(listing: Listing, like: Listing) -> list[str]:
    """The name of each node in `like`; of one that is not there, a name of its own."""
    same = aligned(like, listing)
    taken = {facts.name for facts in like.nodes}
    names: list[str] = []
    for node, facts in enumerate(listing.nodes):
        if node in same:
            names.append(like.nodes[same[node]].name)
        else:
            names.append(_free(facts.name, taken))
            taken.add(names[-1])
    return names


def _free(name: str, taken: set[str]) -> str:
    number = 0
    found = name
    while found in taken:
        number += 1
        found = f"{name}_new" if number == 1 else f"{name}_new_{number}"
    return found
