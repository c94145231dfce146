"""Places of a text as LSP writes them, for answers that have thousands.

The types of lsprotocol check each number when they are made, and cattrs asks about each
field when they are written: for a place that takes many times as long.
"""

from __future__ import annotations

from collections.abc import Callable

from fxls.lsp.client import Client
from fxls.lsp.encoding import counter
from fxls.lsp.item import Item
from fxls.text import LineTable, Point, Span

__all__ = ["LocationItem", "PositionItem", "RangeItem", "location_item", "ranges_in"]


class PositionItem(Item, frozen=True):
    """A place between two characters."""

    line: int
    character: int


class RangeItem(Item, frozen=True):
    """The characters between two places."""

    start: PositionItem
    end: PositionItem


class LocationItem(Item, frozen=True):
    """A range of a file."""

    uri: str
    range: RangeItem


def ranges_in(client: Client, lines: LineTable) -> Callable[[Span], RangeItem]:
    """What makes ranges of spans that are in a text, in the units of a client."""
    units = counter(client.encoding, lines)

    def position(point: Point) -> PositionItem:
        return PositionItem(point.line, units(point.line, point.column))

    return lambda span: RangeItem(position(span.start), position(span.end))


def location_item(
    client: Client, uri: str, span: Span, lines: LineTable | None
) -> LocationItem:
    """A place of a file, whose text perhaps is another one than when that was noted."""
    start = PositionItem(*client.units(span.start, lines))
    end = PositionItem(*client.units(span.end, lines))
    return LocationItem(uri, RangeItem(start, end))
