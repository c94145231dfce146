"""Selections that grow."""

from __future__ import annotations

import pytest

from fxls.ide.selection_ranges import selections
from fxls.text import Point
from tests.ide.nets import NET, TEXT, at


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
