"""Outline, folds, colours, selections and hierarchy of a listing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fxls.ide.call_hierarchy import Call, callees, callers, item_at, item_of
from fxls.ide.document_symbols import Symbol, outline
from fxls.ide.folding_ranges import folds
from fxls.ide.inline_values import lookups
from fxls.ide.listing.document import Document
from fxls.ide.selection_ranges import selections
from fxls.ide.semantic_tokens import tokens
from fxls.text import Point, Span
from tests.ide.nets import LISTING_PATH, NET, TEXT
from tests.support.drawing import cursor
from tests.support.listings import listing_of

END = NET.lines.point(len(TEXT))

TWICE = Document(
    LISTING_PATH,
    listing_of(
        """\
# fxls
import torch

def forward(self, x):
    a = self.layer.fc(x)
    b = torch.relu(a)
    c = self.head(b)
    d = self.layer.fc(c)
    e = torch.relu(d)
    return e
""",
        scopes={
            "a": [("layer", "net.Layer"), ("layer.fc", "torch.nn.Linear")],
            "b": [("layer", "net.Layer"), ("layer.act", "net.Act")],
            "c": [("head", "torch.nn.Linear")],
            "d": [("layer", "net.Layer"), ("layer.fc", "torch.nn.Linear")],
            "e": [("layer", "net.Layer")],
        },
    ),
)


def at(marked: str) -> Point:
    line, point = cursor(marked)
    return Point(TEXT.split("\n").index(line), point.column)


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
        "  placeholder | x | x f32[1, 3, 8, 8] | 2-2 | x",
        "  call_module | conv | conv f32[1, 4, 8, 8] | 3-3 | conv",
        "  call_function | relu | torch.relu f32[1, 4, 8, 8] | 4-4 | relu",
        "  module | block | Block | 5-6 | block_fc",
        "    call_module | block_fc | block.fc | 5-5 | block_fc",
        "    call_function | mul | operator.mul | 6-6 | mul",
        "  call_method | view | view | 7-7 | view",
        "  call_function | add | operator.add | 8-8 | add",
        "  output | output | output | 9-9 | return add",
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


def test_modules_and_the_head_fold() -> None:
    assert [(fold.first, fold.last, fold.text) for fold in folds(TWICE)] == [
        (0, 1, "imports"),
        (4, 5, "layer Layer …"),
        (7, 8, "layer Layer …"),
    ]
    assert [(fold.first, fold.last, fold.text) for fold in folds(NET)] == [
        (5, 6, "block Block …")
    ]


def test_names_have_the_colour_of_their_opcode() -> None:
    found = [
        (NET.lines.slice(t.mark.span), t.colour.name, t.binds, t.frees)
        for t in tokens(NET, 2, 4)
    ]

    assert found == [
        ("x", "INPUT", True, False),
        ("conv", "MODULE", True, False),
        ("x", "INPUT", False, False),
        ("x", "INPUT", False, True),
        ("relu", "FUNCTION", True, False),
        ("conv", "MODULE", False, False),
        ("conv", "MODULE", False, True),
    ]
    assert list(tokens(NET, 0, 1)) == []


@pytest.mark.parametrize(
    ("marked", "grown"),
    [
        (
            "    mul = block_fc$0 * 2;  block_fc = None",
            [
                "block_fc",
                "block_fc * 2",
                "mul = block_fc * 2",
                "mul = block_fc * 2;  block_fc = None",
                TEXT[TEXT.index("block_fc =") : TEXT.index("\n    view =")],
                TEXT.partition("\n\n")[2],
                TEXT,
            ],
        ),
        (
            "def forward(self, $0x):",
            ["x", "def forward(self, x):", TEXT.partition("\n\n")[2], TEXT],
        ),
        ("impor$0t torch", ["import torch", TEXT]),
    ],
)
def test_a_selection_grows_from_name_to_module_to_text(
    marked: str, grown: list[str]
) -> None:
    assert [NET.lines.slice(span) for span in selections(NET, at(marked))] == grown


def test_a_selection_begins_anywhere() -> None:
    for line in range(-1, len(NET.lines) + 1):
        for column in range(-1, len(NET.lines.line(line)) + 2):
            for inner, outer in zip(
                found := selections(NET, Point(line, column)), found[1:], strict=False
            ):
                assert outer.encloses(inner)
                assert outer != inner


def calls_text(calls: tuple[Call, ...]) -> list[str]:
    return [
        f"{call.item.name}: " + ", ".join(map(NET.lines.slice, call.spans))
        for call in calls
    ]


def test_what_reads_a_node_calls_it() -> None:
    relu = item_at(NET, at("    re$0lu = torch.relu(conv);  conv = None"))

    assert relu is not None
    assert (relu.name, relu.detail) == ("relu", "torch.relu → f32[1, 4, 8, 8]")
    assert calls_text(callers(NET, relu)) == ["block_fc: relu", "view: relu"]
    assert calls_text(callees(NET, relu)) == ["conv: conv"]
    assert item_of(NET, relu.first, relu.scope) == relu


def test_the_forward_and_its_modules_call_what_is_in_them() -> None:
    forward = item_at(NET, at("d$0ef forward(self, x):"))
    assert forward is not None
    inside = [call.item for call in callees(NET, forward)]
    block = next(item for item in inside if item.kind == "module")

    assert [item.name for item in inside] == [
        "x",
        "conv",
        "relu",
        "block",
        "view",
        "add",
        "output",
    ]
    assert [call.item.name for call in callees(NET, block)] == ["block_fc", "mul"]
    assert [call.item for call in callers(NET, block)] == [forward]
    assert callers(NET, forward) == ()
    assert item_of(NET, block.first, block.scope) == block


def test_an_item_that_is_not_in_the_listing_is_nothing() -> None:
    assert item_at(NET, at("impor$0t torch")) is None
    assert item_of(NET, 99, None) is None
    assert item_of(NET, -1, None) is None
    assert item_of(NET, 0, 7) is None


def test_a_paused_line_shows_the_shapes_of_what_ran_and_still_lives() -> None:
    stopped = at("    mu$0l = block_fc * 2;  block_fc = None").line

    assert [
        (found.name, found.expression) for found in lookups(NET, 0, 99, stopped)
    ] == [
        ("relu", "tuple(relu.shape)"),
        ("block_fc", "block_fc"),
    ]
    assert lookups(NET, 0, 3, stopped) == ()
    (x,) = lookups(NET, 0, 99, 3)
    assert (x.span, x.expression) == (Span.of(2, 18, 2, 19), "tuple(x.shape)")
