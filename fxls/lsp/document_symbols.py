"""The outline of a listing as LSP writes it.

Not as the types of lsprotocol: those of a hundred thousand symbols take half a minute,
and editors ask for the outline of whatever they open.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from fxls.encodable import encoded
from fxls.ide.document_symbols import Symbol
from fxls.lsp.client import Client
from fxls.lsp.encoding import counter
from fxls.lsp.item import Item
from fxls.lsp.range_item import PositionItem, RangeItem
from fxls.lsp.structure import KINDS, OTHER
from fxls.text import LineTable

__all__ = ["SymbolItem", "symbol_item"]


_TOGETHER = 500
"""So many symbols are written at once: while one call writes a hundred thousand, or lets
go of them, no other thread runs."""

_NOTHING = msgspec.Raw()


class SymbolItem(Item, frozen=True):
    """A symbol with those below it, which are written already."""

    name: str
    kind: int
    range: RangeItem
    selection_range: RangeItem
    detail: str = ""
    children: msgspec.Raw = _NOTHING


def symbol_item(client: Client, symbol: Symbol, lines: LineTable) -> SymbolItem:
    """A symbol with those below it, in the units of a client."""
    kinds = {kind: number.value for kind, number in KINDS.items()}
    other = OTHER.value
    units = counter(client.encoding, lines)

    def item(one: Symbol) -> SymbolItem:
        line, end_line = one.line, one.end_line
        start = PositionItem(line, units(line, one.column))
        end = PositionItem(end_line, units(end_line, one.end_column))
        focus = PositionItem(line, units(line, one.focus))
        focus_end = PositionItem(line, units(line, one.focus_end))
        return SymbolItem(
            one.name,
            kinds.get(one.kind, other),
            RangeItem(start, end),
            RangeItem(focus, focus_end),
            one.detail,
            # Most have none, and to go through that takes longer than to ask.
            written(one.children) if one.children else _NOTHING,
        )

    def written(symbols: Iterable[Symbol]) -> msgspec.Raw:
        rest = map(item, symbols)
        parts: list[bytes] = []
        while some := [*islice(rest, _TOGETHER)]:
            parts += (b",", encoded(some, msgspec.json.encode)[1:-1])
        if not parts:
            return _NOTHING
        # One copy of what may have megabytes.
        parts[0] = b"["
        return msgspec.Raw(b"".join([*parts, b"]"]))

    return item(symbol)
