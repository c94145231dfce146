"""Text of the user's that is no UTF-8 reaches the other side, with escapes."""

import struct

import msgspec
import pytest

from fxls.encodable import encoded
from fxls.listing import Failure, Place, Reason
from fxls.text import Point, Span
from fxls.wire import Failed, Printed, answer_of, framed

HALF = "a\ud83db"
SAID = "a\\ud83db"


def test_an_answer_has_its_text_with_escapes_wherever_it_stands() -> None:
    span = Span(Point(0, 1), Point(0, 2))
    place = Place(f"/{HALF}.py", HALF, span)
    answer = Failed(3, Failure(Reason.IMPORT, HALF, (place,), HALF), (HALF, "b"))

    data = framed(answer)

    assert struct.unpack(">I", data[:4]) == (len(data) - 4,)
    escaped = Place(f"/{SAID}.py", SAID, span)
    assert answer_of(data[4:]) == Failed(
        3, Failure(Reason.IMPORT, SAID, (escaped,), SAID), (SAID, "b")
    )


def test_what_the_user_prints_is_escaped() -> None:
    assert answer_of(framed(Printed(None, HALF))[4:]) == Printed(None, SAID)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({HALF: [HALF, 1, None]}, {SAID: [SAID, 1, None]}),
        (
            ["größe", "\U0001f600", "\ud83d\ude00"],
            ["größe", "\U0001f600", "\\ud83d\\ude00"],
        ),
        ([b"\xff", 1.5, True], ["/w==", 1.5, True]),
    ],
)
def test_nothing_else_of_a_value_changes(value: object, expected: object) -> None:
    assert msgspec.json.decode(encoded(value, msgspec.json.encode)) == expected
