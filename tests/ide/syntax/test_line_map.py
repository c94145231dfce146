"""Where lines went, and what the source side of a listing makes of it."""

from __future__ import annotations

from fxls.ide.hover import source_hover
from fxls.ide.implementation import source_implementation
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax.line_map import LineMap
from fxls.text import LineTable, Point, Span
from tests.ide.nets import LISTING_PATH, NET, SOURCE, SOURCE_PATH
from tests.support.cards import card_text, jump_text
from tests.support.drawing import drawn

OLD = "a\nb\nc\nd\n"
NEW = "first\na\nB\nc\nthen\nd\n"


def test_every_line_that_is_still_there_is_found() -> None:
    moves = LineMap(OLD, NEW)

    found = {line: moves.before(Point(line, 3)) for line in range(7)}

    assert {line: point.line for line, point in found.items() if point} == {
        1: 0,
        3: 2,
        5: 3,
        6: 4,
    }
    assert found[1] == Point(0, 3)


def test_a_span_moves_as_a_whole_or_not_at_all() -> None:
    moves = LineMap(OLD, NEW)

    assert moves.after(Span.of(0, 0, 0, 1)) == Span.of(1, 0, 1, 1)
    assert moves.after(Span.of(1, 0, 1, 1)) is None, "its line was edited"
    assert moves.after(Span.of(2, 0, 3, 1)) is None, "a line came between"
    assert LineMap("a\nb", "\na\nb").after(Span.of(0, 0, 1, 1)) == Span.of(1, 0, 2, 1)


def test_of_an_unknown_text_no_line_is_found() -> None:
    moves = LineMap.unknown()

    assert [moves.before(Point(line, 0)) for line in range(3)] == [None] * 3


def test_texts_that_are_all_different_are_not_compared_for_long() -> None:
    old = "".join(f"old {line}\n" for line in range(5000))
    new = "".join(f"new {line}\n" for line in range(5000))

    moves = LineMap("same\n" + old, "same\n" + new)

    assert moves.before(Point(0, 0)) == Point(0, 0)
    assert moves.before(Point(1, 0)) is None


def edited(text: str) -> SourceFile:
    moves = {LISTING_PATH: LineMap(SOURCE, text)}
    return SourceFile(SOURCE_PATH, LineTable(text), (NET,), moves=moves)


def test_an_expression_that_moved_still_has_its_nodes_and_says_it_is_old() -> None:
    text = "# a line\n" + SOURCE
    file = edited(text)

    found = source_hover(file, Point(8, 30))

    assert found is not None
    assert drawn(text, [(found.span, "")]) == (
        "        y = torch.relu(self.conv(x))\n                       ^^^^^^^^^^^^"
    )
    assert card_text(found.card) == (
        "1 node of Net\n"
        "- : [conv Net_0123456789ab.py:3:4]: call_module `conv` → `f32[1, 4, 8, 8]`\n"
        "The file was edited since this was traced."
    )
    assert jump_text(source_implementation(file, Point(8, 30))) == [
        "Net_0123456789ab.py:3:4-3:8"
    ]


def test_an_expression_that_was_edited_has_none() -> None:
    file = edited(SOURCE.replace("torch.relu(self", "torch.relu(1 * self"))

    assert source_hover(file, Point(7, 30)) is None
    assert source_hover(file, Point(8, 20)) is not None
