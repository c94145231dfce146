"""Lenses as LSP writes them, each with what happens when somebody clicks it.

Not as the types of lsprotocol: a source of a hundred classes has three hundred lenses,
and after each key an editor asks for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from fxls.ide.code_lenses import (
    Act,
    DebugEntry,
    Lens,
    OpenPlace,
    PeekPlaces,
    ShowTable,
    TraceEntry,
    WriteEntry,
)
from fxls.ide.listing.document import Destination
from fxls.lsp import custom
from fxls.lsp.client import Client, Lines
from fxls.lsp.item import Item
from fxls.lsp.range_item import LocationItem, RangeItem, location_item, ranges_in
from fxls.lsp.uris import uri_of
from fxls.text import LineTable

__all__ = ["LensItem", "lens_items"]


class _Command(Item, frozen=True):
    title: str
    command: str
    """Empty where a click does nothing."""
    arguments: tuple[object, ...] | None = None


class LensItem(Item, frozen=True):
    """A title above a line, and the command behind it."""

    range: RangeItem
    command: _Command


def lens_items(
    client: Client, lenses: Iterable[Lens], lines: LineTable, lines_of: Lines
) -> list[LensItem]:
    """The lenses of a text; one that the client cannot follow only says its title."""
    # Most lenses of a text name the same few files.
    uri = cache(uri_of)
    lines_of = cache(lines_of)
    range_of = ranges_in(client, lines)

    def location(there: Destination) -> LocationItem:
        text = lines_of(there.path)
        return location_item(client, uri(there.path), there.focus, text)

    def called(act: Act) -> tuple[str, tuple[object, ...]]:
        match act:
            case OpenPlace(there):
                place = location(there)
                start = place.range.start
                return custom.OPEN, (place.uri, start.line, start.character)
            case PeekPlaces(span, destinations):
                places = [location(there) for there in destinations]
                first = places[0].uri if places else ""
                return custom.SHOW_REFERENCES, (first, range_of(span).start, places)
            case ShowTable(path):
                return custom.TABLE, (uri(path),)
            case TraceEntry(path, expression):
                return custom.TRACE, (uri(path), expression)
            case DebugEntry(path, expression, listing):
                made = uri(listing) if listing else None
                return custom.DEBUG, (uri(path), expression, made)
            case WriteEntry(path, name):
                return custom.WRITE_ENTRY, (uri(path), name)

    def command(lens: Lens) -> _Command:
        if lens.act is None:
            return _Command(lens.title, "")
        name, arguments = called(lens.act)
        if not _is_followed(client, name):
            return _Command(lens.title, "")
        return _Command(lens.title, name, arguments)

    return [LensItem(range_of(lens.span), command(lens)) for lens in lenses]


def _is_followed(client: Client, command: str) -> bool:
    """Whether a client can do what a command needs."""
    abilities = client.abilities
    if command == custom.OPEN:
        return abilities.shows_documents
    if command == custom.WRITE_ENTRY:
        return abilities.applies_edits
    if command in (custom.DEBUG, custom.SHOW_REFERENCES):
        return command in abilities.commands
    return True
