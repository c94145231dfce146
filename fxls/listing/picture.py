"""A graph as a small picture in SVG: its nodes in their order, and an arc for each use.

An arc leads from a node to each that reads it, so what goes around others, as a residual
connection does, is seen at once. It stands in somebody else's page: all text is escaped,
nothing is loaded, nothing runs, and it is drawn in the colour of the page's text.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from math import sqrt

from fxls.listing import Facts, Listing

__all__ = ["picture_of"]

_ROW = 20
_LARGEST = 300
"""More nodes are no picture that a person reads in a cell."""


def picture_of(listing: Listing, said_of: Callable[[Facts], str]) -> str | None:
    """The picture; None for a graph that is too large for one.

    `said_of` has the words behind the name of a node.
    """
    nodes = listing.nodes
    if len(nodes) > _LARGEST:
        return None
    arcs = [(row, user) for row, facts in enumerate(nodes) for user in facts.users]
    gutter = max((_depth(*arc) for arc in arcs), default=0) * 3 / 4 + _ROW
    texts = [
        (one.name, "" if one.target == one.name else one.target, said_of(one))
        for one in nodes
    ]
    # A letter of this size is never wider.
    width = (
        gutter + _ROW + 8 * max((sum(map(len, text)) + 4 for text in texts), default=0)
    )
    height = _ROW * len(nodes)
    size = f'width="{width:.0f}" height="{height}"'
    font = 'font-family="monospace" font-size="12"'
    drawn = [f'<svg {size} fill="none" stroke="currentColor" {font}>']
    for row, user in arcs:
        start, end, depth = _middle(row), _middle(user), gutter - _depth(row, user)
        curve = f"M{gutter:.0f} {start}C{depth:.0f} {start} {depth:.0f} {end} {gutter:.0f} {end}"
        drawn.append(f'<path d="{curve}" stroke-opacity=".5"/>')
    for row, (name, target, said) in enumerate(texts):
        middle = _middle(row)
        drawn.append(
            f'<circle cx="{gutter:.0f}" cy="{middle}" r="3" fill="currentColor"/>'
            f'<text x="{gutter + 10:.0f}" y="{middle + 4}" fill="currentColor"'
            f' stroke="none">{escape(name)}<tspan fill-opacity=".6" dx="8">'
            f"{escape(target)}</tspan>"
            f'<tspan dx="8">{escape(said)}</tspan></text>'
        )
    return "\n".join([*drawn, "</svg>"])


def _middle(row: int) -> int:
    return _ROW * row + _ROW // 2


def _depth(row: int, user: int) -> float:
    """How far an arc bends: it grows with its length, ever less."""
    return 18 * sqrt(abs(user - row))
