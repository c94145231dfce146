"""The colours of a listing."""

from __future__ import annotations

from fxls.ide.semantic_tokens import tokens
from tests.ide.nets import NET


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
