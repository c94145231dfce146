"""Places of an earlier text, in the text of today."""

from __future__ import annotations

import pytest

from fxls.ide.syntax.quoted_places import PlacesNow
from fxls.listing import Place, source_digest
from fxls.record import QuotedPlace
from fxls.text import LineTable, Span

BEFORE = "def f(x):\n    print(x)\n    return (x +\n        1)\n"


def quoted(first: int, column: int, last: int, end: int) -> QuotedPlace:
    place = Place("/p/net.py", "f", Span.of(first, column, last, end))
    line = LineTable(BEFORE).line(first)
    return QuotedPlace(place, line, source_digest(BEFORE.encode()))


CALL, SUM = quoted(1, 4, 1, 12), quoted(2, 11, 3, 10)
MOVED = "import y\n\n" + BEFORE
EDITED = BEFORE.replace("print(x)", "print(x, 1)")
TWICE = MOVED + "    print(x)\n"

FOLLOWED = {
    "the same text": (BEFORE, CALL, "print(x)", "print(x)"),
    "lines above": (MOVED, CALL, "print(x)", "print(x)"),
    "over several lines": (MOVED, SUM, "(x +\n        1)", "(x +"),
    "an edited line": (EDITED, CALL, None, None),
    "a line that is there twice": (TWICE, CALL, "print(x)", None),
    "another end of lines": (MOVED.replace("\n", "\r\n"), CALL, None, "print(x)"),
    "nothing left": ("", CALL, None, None),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_place_follows_its_line_and_fades_where_that_changed(name: str) -> None:
    text, place, known, unknown = FOLLOWED[name]
    texts = {place.digest: BEFORE}

    def slice_of(now: PlacesNow) -> str | None:
        span = now.span(place)
        return None if span is None else LineTable(text).slice(span)

    assert slice_of(PlacesNow(text, texts.get)) == known
    assert slice_of(PlacesNow(text)) == (known if text == BEFORE else unknown)
