"""The rows of a table: what they say, how they are sorted and searched."""

from __future__ import annotations

import pytest

from fxls.ide.listing.document import Document
from fxls.ide.listing.table_rows import Column, Row, row, rows
from fxls.listing import Tensor, Value
from tests.ide.nets import LISTING_PATH, NET
from tests.support.listings import listing_of

SIZES: dict[str, Value] = {
    "a": Tensor((4, 2), "torch.float32", "cuda:0", bytes=32),
    "a_2": Tensor(("s0", 9), "torch.float16", "cpu"),
    "a_10": Tensor((3,), "torch.int64", "cpu", bytes=24),
}

SIZED = Document(
    LISTING_PATH,
    listing_of(
        """\
def forward(self, x):
    a = torch.relu(x)
    a_2 = torch.tanh(a)
    a_10 = torch.add(a, a_2, alpha=2)
    return a_10
""",
        values=SIZES,
    ),
)


def names(document: Document, found: list[int]) -> list[str]:
    return [document.listing.nodes[node].name for node in found]


def test_a_row_says_all_that_is_known_of_a_node() -> None:
    assert row(NET, 4) == Row(
        name="mul",
        opcode="call_function",
        target="operator.mul",
        args="block_fc, 2",
        kwargs="",
        users=1,
        shape="",
        dtype="",
        device="",
        bytes=None,
        module="block",
        module_type="block.Block",
        passes=(),
    )
    assert row(SIZED, 3).kwargs == "alpha=2"
    assert row(NET, 1).shape == "(1, 4, 8, 8)"
    assert (row(NET, 1).dtype, row(NET, 1).device) == ("float32", "cpu")
    assert row(NET, 1).bytes == 1024


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (Column.NODE, "x a a_2 a_10 output"),
        # Numbers behind a name count as numbers.
        (Column.NAME, "a a_2 a_10 output x"),
        (Column.OPCODE, "a a_2 a_10 output x"),
        (Column.TARGET, "output a_10 a a_2 x"),
        (Column.USERS, "output x a_2 a_10 a"),
        # A size that is a symbol is no number, and stands between none and all others.
        (Column.SHAPE, "x output a_2 a_10 a"),
        (Column.DTYPE, "x output a_2 a a_10"),
        (Column.DEVICE, "x output a_2 a_10 a"),
        (Column.BYTES, "x a_2 output a_10 a"),
    ],
)
def test_rows_are_sorted_by_a_column(column: Column, expected: str) -> None:
    assert " ".join(names(SIZED, rows(SIZED, column))) == expected


def test_rows_are_sorted_by_module_and_by_source() -> None:
    by_module = names(NET, rows(NET, Column.MODULE))
    by_source = names(NET, rows(NET, Column.SOURCE))

    assert by_module == [
        "x",
        "relu",
        "view",
        "add",
        "output",
        "mul",
        "block_fc",
        "conv",
    ]
    assert by_source == [
        "x",
        "output",
        "block_fc",
        "mul",
        "relu",
        "conv",
        "add",
        "view",
    ]


def test_rows_that_are_equal_stay_in_the_order_of_the_graph_both_ways() -> None:
    down = rows(SIZED, Column.OPCODE, descending=True)

    assert names(SIZED, down) == ["x", "output", "a", "a_2", "a_10"]
    assert rows(SIZED, descending=True) == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("", "x conv relu block_fc mul view add output"),
        ("  ", "x conv relu block_fc mul view add output"),
        ("BLOCK", "block_fc mul"),
        ("block function", "mul"),
        ("float32 (1, 4", "conv relu"),
        ("nowhere", ""),
    ],
)
def test_a_search_wants_all_of_its_words(search: str, expected: str) -> None:
    assert " ".join(names(NET, rows(NET, search=search))) == expected
