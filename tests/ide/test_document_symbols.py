"""The outline of a listing."""

from __future__ import annotations

from collections.abc import Iterator

from fxls.ide.document_symbols import Symbol, outline
from fxls.ide.listing.document import Document
from tests.ide.nets import NET, TWICE


def lines_of(document: Document, symbol: Symbol, depth: int = 0) -> Iterator[str]:
    """A symbol as a line, indented: kind, name, detail, lines and what it lands on."""
    first, last = symbol.whole.start.line, symbol.whole.end.line
    landing = document.lines.slice(symbol.focus)
    words = [symbol.kind, symbol.name, symbol.detail, f"{first}-{last}", landing]
    yield "  " * depth + " | ".join(words)
    for child in symbol.children:
        assert symbol.whole.encloses(child.whole)
        yield from lines_of(document, child, depth + 1)


def test_the_outline_has_the_nodes_in_their_modules() -> None:
    assert list(lines_of(NET, outline(NET))) == [
        "forward | Net.forward |  | 2-10 | def forward(self, x):",
        "  placeholder | x | f32[1, 3, 8, 8] | 2-2 | x",
        "  call_module | conv | f32[1, 4, 8, 8] | 3-3 | conv",
        "  call_function | relu | f32[1, 4, 8, 8] | 4-4 | relu",
        "  module | block | Block | 5-6 | block_fc",
        "    call_module | block_fc |  | 5-5 | block_fc",
        "    call_function | mul |  | 6-6 | mul",
        "  call_method | view |  | 7-7 | view",
        "  call_function | add |  | 8-8 | add",
        "  output | output |  | 9-9 | return add",
    ]


def test_a_module_that_is_called_twice_is_there_twice() -> None:
    assert [line.split(" | ")[:2] for line in lines_of(TWICE, outline(TWICE))] == [
        ["forward", "Net.forward"],
        ["  placeholder", "x"],
        ["  module", "layer"],
        ["    call_module", "a"],
        ["    module", "layer.act"],
        ["      call_function", "b"],
        ["  call_module", "c"],
        ["  module", "layer"],
        ["    call_module", "d"],
        ["    call_function", "e"],
        ["  output", "output"],
    ]
