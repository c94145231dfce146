"""Columns under each encoding that a client may count in."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp

from fxls.lsp import from_lsp
from fxls.lsp.abilities import Abilities
from fxls.lsp.client import Client
from fxls.lsp.encoding import Encoding
from fxls.text import LineTable, Point, Span

LINE = "é𝄞x"
"""Two, four and one byte; one, two and one UTF-16 unit."""


@pytest.mark.parametrize(
    ("encoding", "units"),
    [
        (Encoding.UTF8, [0, 2, 6, 7]),
        (Encoding.UTF16, [0, 1, 3, 4]),
        (Encoding.UTF32, [0, 1, 2, 3]),
    ],
)
def test_a_column_is_so_many_units_and_back(
    encoding: Encoding, units: list[int]
) -> None:
    assert [encoding.units(LINE, column) for column in range(4)] == units
    assert [encoding.column(LINE, count) for count in units] == [0, 1, 2, 3]


@pytest.mark.parametrize("encoding", Encoding)
def test_places_outside_a_line_go_to_its_ends(encoding: Encoding) -> None:
    for line in (LINE, "abc"):
        assert encoding.column(line, 99) == 3
        assert encoding.column(line, -1) == 0
        assert encoding.units(line, 99) == encoding.units(line, 3)
        assert encoding.units(line, -1) == 0


@pytest.mark.parametrize(
    ("encoding", "units"),
    [(Encoding.UTF8, 3), (Encoding.UTF8, 5), (Encoding.UTF16, 2)],
)
def test_units_inside_a_character_are_the_column_in_front_of_it(
    encoding: Encoding, units: int
) -> None:
    assert encoding.column(LINE, units) == 1


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("ab\ncd", (1, 1), Point(1, 1)),
        ("ab\r\ncd", (0, 9), Point(0, 2)),
        ("ab\ncd", (7, 3), Point(1, 2)),
        ("ab\n", (9, 0), Point(1, 0)),
        ("", (0, 5), Point(0, 0)),
        ("a\f\u2028b\nc", (0, 3), Point(0, 3)),
        ("𝄞\n𝄞x", (1, 2), Point(1, 1)),
    ],
)
def test_a_position_is_a_point_of_the_text(
    text: str, position: tuple[int, int], expected: Point
) -> None:
    asked = lsp.Position(*position)

    assert from_lsp.point(asked, LineTable(text), Encoding.UTF16) == expected
    assert asked == lsp.Position(*position), "what the client sent is left alone"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        (Encoding.UTF8, "1:6-1:7"),
        (Encoding.UTF16, "1:3-1:4"),
        (Encoding.UTF32, "1:2-1:3"),
    ],
)
def test_a_span_is_a_range_of_the_text(encoding: Encoding, expected: str) -> None:
    lines = LineTable(f"\r\n{LINE}\r\n")

    assert (
        repr(Client(Abilities(encoding)).range(Span.of(1, 2, 1, 3), lines)) == expected
    )


def test_a_span_of_a_text_that_nobody_has_keeps_its_columns() -> None:
    assert repr(Client().range(Span.of(1, 2, 1, 3), None)) == "1:2-1:3"
