"""The colours of a listing as LSP writes them.

Not as the types of lsprotocol, and by no object for each name: a graph of a hundred
thousand nodes has three hundred thousand names.
"""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types as lsp

from fxls.ide.semantic_tokens import Colour, Token
from fxls.listing import Role
from fxls.lsp.client import Client
from fxls.lsp.encoding import counter
from fxls.lsp.item import Item
from fxls.text import LineTable

__all__ = ["LEGEND", "TokensDelta", "TokensItem", "tokens_item"]

_TYPES = {
    Colour.INPUT: lsp.SemanticTokenTypes.Parameter,
    Colour.ATTRIBUTE: lsp.SemanticTokenTypes.Property,
    Colour.MODULE: lsp.SemanticTokenTypes.Class,
    Colour.METHOD: lsp.SemanticTokenTypes.Method,
    Colour.FUNCTION: lsp.SemanticTokenTypes.Function,
}

LEGEND = lsp.SemanticTokensLegend(
    token_types=[_TYPES[colour].value for colour in Colour],
    token_modifiers=[lsp.SemanticTokenModifiers.Declaration.value, "freed"],
)
_MODIFIERS = {Role.BINDS.value: 1, Role.READS.value: 0, Role.FREES.value: 2}


class TokensItem(Item, frozen=True):
    """Each token as five numbers, its place counted from the one before."""

    data: list[int]
    result_id: str | None = None
    """What the client calls these when it asks for what changed since."""


class TokensDelta(Item, frozen=True):
    """That nothing changed: a listing never does."""

    result_id: str
    edits: tuple[()]


def tokens_item(
    client: Client, tokens: Iterable[Token], lines: LineTable, result: str | None = None
) -> TokensItem:
    units = counter(client.encoding, lines)
    data: list[int] = []
    line = character = 0
    for mark, colour in tokens:
        at, column = mark.line, mark.column
        start = units(at, column)
        end = units(at, column + mark.length)
        if at != line:
            character = 0
        data += (
            at - line,
            start - character,
            end - start,
            int(colour),
            _MODIFIERS[mark.role],
        )
        line, character = at, start
    return TokensItem(data, result)
