"""The nodes of a listing that stand for a line of the source."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from fxls.listing import Listing, Place

__all__ = ["Line", "nodes_of_lines"]

Line = tuple[str, int]
"""The real path of a file, and a line of it, counted from one."""

_NO_CALLS = ("placeholder", "get_attr", "output")


def nodes_of_lines(listing: Listing) -> Mapping[Line, Sequence[int]]:
    """For each line of the source, the nodes that it begins with, each time that it ran.

    A line that calls a function begins with what it first made in there. It ran again
    where it stops to run, and where it makes again what it began with, as in a loop.
    """
    found: dict[Line, list[int]] = defaultdict(list)
    real: dict[str, str] = {}
    began: dict[Line, Sequence[Place]] = {}
    """What the lines began with that the node before stands for."""
    for i, facts in enumerate(listing.nodes):
        if facts.opcode in _NO_CALLS:
            continue
        origin = listing.origin(i)
        places = origin.places if origin is not None else ()
        for place in places:
            if place.path not in real:
                real[place.path] = os.path.realpath(place.path)
        here = {(real[at.path], at.span.start.line + 1) for at in places}
        for line in here:
            if began.get(line, places) == places:
                found[line].append(i)
        began = {line: began.get(line, places) for line in here}
    return found
