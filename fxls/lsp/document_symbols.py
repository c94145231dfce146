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
from fxls.lsp.item import Item
from fxls.lsp.range_item import RangeItem, ranges_in
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
    span = ranges_in(client, lines)

    def item(one: Symbol) -> SymbolItem:
        kind = KINDS.get(one.kind, OTHER).value
        below = written(one.children)
        return SymbolItem(
            one.name, kind, span(one.whole), span(one.focus), one.detail, below
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
