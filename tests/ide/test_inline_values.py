"""What a paused debugger shows in a listing."""

from __future__ import annotations

from fxls.ide.inline_values import lookups
from fxls.text import Span
from tests.ide.nets import NET, at


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
