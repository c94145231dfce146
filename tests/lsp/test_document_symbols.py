"""The outline as it is sent, beside what lsprotocol writes of the same symbols."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from fxls.ide.document_symbols import FORWARD, MODULE, Symbol
from fxls.lsp.abilities import Abilities
from fxls.lsp.client import Client
from fxls.lsp.document_symbols import symbol_item
from fxls.lsp.encoding import Encoding
from fxls.lsp.structure import KINDS
from fxls.text import LineTable, Span

LINES = LineTable("def forward(self, é𝄞):\n" + "    𝄞 = relu(é𝄞)\n" * 1300)
ASCII = LineTable("def forward(self, ab):\n" + "    a = relu(ab)\n" * 1300)


def leaf(line: int) -> Symbol:
    return Symbol(f"é{line}", "", "call_function", line, 4, line, 16, 4, 5)


def module(name: str, first: int, *children: Symbol) -> Symbol:
    detail = "Layer 𝄞"
    return Symbol(name, detail, MODULE, first, 4, first + 1, 16, 4, 5, children)


def forward(*children: Symbol) -> Symbol:
    return Symbol("forward", "", FORWARD, 0, 0, 1300, 16, 0, 22, children)


def outline(count: int) -> Symbol:
    """A forward with so many calls in a module of a module, and as many beside it."""
    calls = [leaf(1 + line % 1300) for line in range(count)]
    inner = module("layers.0.act", 2, *calls)
    outer = module("layers.0", 1, leaf(1), inner, leaf(3))
    return forward(outer, *calls)


def sent(client: Client, symbol: Symbol, lines: LineTable = LINES) -> Any:
    return msgspec.json.decode(msgspec.json.encode(symbol_item(client, symbol, lines)))


def by_lsprotocol(
    client: Client, symbol: Symbol, lines: LineTable
) -> lsp.DocumentSymbol:
    end = symbol.end_line, symbol.end_column
    whole = Span.of(symbol.line, symbol.column, *end)
    focus = Span.of(symbol.line, symbol.focus, symbol.line, symbol.focus_end)
    return lsp.DocumentSymbol(
        symbol.name,
        KINDS.get(symbol.kind, lsp.SymbolKind.Variable),
        client.range(whole, lines),
        client.range(focus, lines),
        detail=symbol.detail or None,
        children=[by_lsprotocol(client, one, lines) for one in symbol.children] or None,
    )


@pytest.mark.parametrize("lines", [LINES, ASCII], ids=["letters", "ascii"])
@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1001])
@pytest.mark.parametrize("encoding", Encoding)
def test_an_outline_of_any_size_is_sent_as_lsprotocol_would_send_it(
    encoding: Encoding, count: int, lines: LineTable
) -> None:
    client = Client(Abilities(encoding))
    expected = get_converter().unstructure(by_lsprotocol(client, outline(count), lines))

    assert sent(client, outline(count), lines) == expected


def test_a_name_that_is_no_unicode_is_sent_with_escapes() -> None:
    odd = Symbol("caf\udce9", "", "output", 0, 0, 0, 3, 0, 3)

    (found,) = sent(Client(), forward(odd))["children"]

    assert found["name"] == "caf\\udce9"
