"""Every place where a node is named."""

from __future__ import annotations

from fxls.ide.document_highlights import highlights
from fxls.text import Point
from tests.ide.nets import NET, at


def test_highlights_have_also_where_a_name_is_freed() -> None:
    found = highlights(NET, at("def forward(self, $0x):"))

    assert [(m.span.start, m.role.name) for m in found] == [
        (Point(2, 18), "BINDS"),
        (Point(3, 21), "READS"),
        (Point(3, 26), "FREES"),
    ]
