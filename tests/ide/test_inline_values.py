"""What a paused debugger shows in a listing."""

from __future__ import annotations

from fxls.ide.inline_values import lookups
from fxls.text import Span
from tests.ide.nets import NET, at


def test_a_paused_line_shows_the_names_of_what_ran_and_still_lives() -> None:
    stopped = at("    mu$0l = block_fc * 2;  block_fc = None").line

    found = lookups(NET, 0, 99, stopped)
    assert [one.name for one in found] == ["relu", "block_fc"]
    assert lookups(NET, 0, 3, stopped) == ()
    (x,) = lookups(NET, 0, 99, 3)
    assert (x.span, x.name) == (Span.of(2, 18, 2, 19), "x")
