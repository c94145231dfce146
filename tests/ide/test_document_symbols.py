"""The outline of a listing."""

from __future__ import annotations

from collections.abc import Iterator

from fxls.ide.document_symbols import Symbol, outline
from fxls.ide.listing.document import Document
from fxls.listing import Items, Plain, Tensor, Value
from fxls.text import Span
from tests.ide.nets import LISTING_PATH, NET, TWICE
from tests.support.listings import listing_of


def lines_of(document: Document, symbol: Symbol, depth: int = 0) -> Iterator[str]:
    """A symbol as a line, indented: kind, name, detail, lines and what it lands on."""
    whole, focus = whole_of(symbol), focus_of(symbol)
    assert whole.encloses(focus)
    at = f"{symbol.line}-{symbol.end_line}"
    landing = document.lines.slice(focus)
    yield "  " * depth + " | ".join(
        (symbol.kind, symbol.name, symbol.detail, at, landing)
    )
    for child in symbol.children:
        assert whole.encloses(whole_of(child))
        yield from lines_of(document, child, depth + 1)


def whole_of(symbol: Symbol) -> Span:
    return Span.of(symbol.line, symbol.column, symbol.end_line, symbol.end_column)


def focus_of(symbol: Symbol) -> Span:
    return Span.of(symbol.line, symbol.focus, symbol.line, symbol.focus_end)


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


def test_nodes_that_are_nearly_alike_have_a_detail_each() -> None:
    values: dict[str, Value] = {
        "relu": Tensor((1, 3), "torch.float32", "cpu"),
        "relu_1": Tensor((3, 1), "torch.float32", "cpu"),
        "relu_2": Tensor((3, 1), "torch.float16", "cpu"),
        "h": Tensor((3, 1), "torch.float16", "cpu"),
        "chunk": Items("tuple", (Tensor((3, 1), "torch.float16", "cpu"),)),
        "chunk_1": Plain("7", "int"),
    }
    text = """\
def forward(self, x):
    relu = torch.relu(x)
    relu_1 = torch.relu(relu)
    relu_2 = torch.relu(relu_1)
    relu_3 = torch.relu(relu_2)
    relu6 = torch.relu(relu_3)
    relu6_1 = torch.relu6(relu6)
    h = torch.relu(relu6_1)
    chunk = torch.chunk(h)
    chunk_1 = torch.chunk(chunk)
    return chunk_1
"""
    document = Document(LISTING_PATH, listing_of(text, values=values))

    assert [(one.name, one.detail) for one in outline(document).children] == [
        ("x", ""),
        ("relu", "f32[1, 3]"),
        ("relu_1", "f32[3, 1]"),
        ("relu_2", "f16[3, 1]"),
        ("relu_3", ""),
        ("relu6", "torch.relu"),
        ("relu6_1", ""),
        ("h", "torch.relu f16[3, 1]"),
        ("chunk", "(f16[3, 1])"),
        ("chunk_1", "7"),
        ("output", ""),
    ]
