"""The outline of a listing as LSP writes it.

Not as the types of lsprotocol: those of a hundred thousand symbols take half a minute,
and editors ask for the outline of whatever they open.
"""

from __future__ import annotations

from fxls.ide.document_symbols import Symbol
from fxls.lsp.client import Client
from fxls.lsp.item import Item
from fxls.lsp.range_item import RangeItem, ranges_in
from fxls.lsp.structure import KINDS, OTHER
from fxls.text import LineTable

__all__ = ["SymbolItem", "symbol_item"]


class SymbolItem(Item, frozen=True):
    """A symbol with those below it."""

    name: str
    kind: int
    range: RangeItem
    selection_range: RangeItem
    detail: str = ""
    children: tuple[SymbolItem, ...] = ()


def symbol_item(client: Client, symbol: Symbol, lines: LineTable) -> SymbolItem:
    """A symbol with those below it, in the units of a client."""
    span = ranges_in(client, lines)

    def item(one: Symbol) -> SymbolItem:
        kind = KINDS.get(one.kind, OTHER).value
        below = tuple([item(child) for child in one.children])
        return SymbolItem(
            one.name, kind, span(one.whole), span(one.focus), one.detail, below
        )

    return item(symbol)
