"""A table of texts is, to the letter, what `tabulate` makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabulate import tabulate

from fxls.engine.ir.table import table

HEADERS = ["opcode", "name", "target"]

cells = st.one_of(
    st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs"))),
    st.text(),
    st.sampled_from(["True", "1", "-2.50", " x", "x ", "", "a\nb", "表", "\x1b[1mb"]),
)


@given(st.lists(st.lists(cells, min_size=3, max_size=3)))
def test_whatever_the_cells_are(rows: list[list[str]]) -> None:
    theirs = tabulate(rows, headers=HEADERS, disable_numparse=True)
    assert table(HEADERS, rows, has_words=True) == theirs


@pytest.mark.parametrize(
    "rows",
    [
        [["call_module", "a", "0"], ["call_module", "b", "11"]],
        [["placeholder", "x", "x"], ["output", "output", "output"]],
    ],
    ids=["numbers", "words"],
)
def test_columns_of_numbers_are_found_unless_there_are_words(
    rows: list[list[str]],
) -> None:
    assert table(HEADERS, rows, has_words=False) == tabulate(rows, headers=HEADERS)
