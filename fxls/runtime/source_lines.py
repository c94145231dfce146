"""The nodes of a listing that stand for a line of the source."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from fxls.listing import Listing

__all__ = ["Line", "nodes_of_lines"]

Line = tuple[str, int]
"""The real path of a file, and a line of it, counted from one."""

_NO_CALLS = ("placeholder", "get_attr", "output")


def nodes_of_lines(listing: Listing) -> Mapping[Line, Sequence[int]]:
    """For each line of the source, the nodes that it begins with, each time that it ran.

    A line that calls a function begins with what it first made in there.
    """
    found: dict[Line, list[int]] = defaultdict(list)
    real: dict[str, str] = {}
    before: set[Line] = set()
    for i, facts in enumerate(listing.nodes):
        if facts.opcode in _NO_CALLS:
            continue
        origin = listing.origin(i)
        places = origin.places if origin is not None else ()
        for place in places:
            if place.path not in real:
                real[place.path] = os.path.realpath(place.path)
        here = {(real[at.path], at.span.start.line + 1) for at in places}
        for line in here - before:
            found[line].append(i)
        before = here
    return found
