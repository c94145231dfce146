"""Where classes are defined."""

from __future__ import annotations

from fxls.ide.listing.definitions import class_of_graph, class_of_scope, method_of_scope
from fxls.ide.listing.document import Destination
from fxls.listing import Scope
from fxls.text import LineTable
from tests.ide.nets import (
    NET,
    source_text,
)


def test_classes_are_found_where_they_are_defined() -> None:
    text = "if True:\n    class Net:\n        class Part:\n            def forward(self):\n"
    text += "                pass\n\ndef part(x):\n    class Net:\n        pass\n"

    def read(path: str) -> str | None:
        return text if path == "/work/net.py" else None

    def line(there: Destination | None) -> tuple[int, str] | None:
        if there is None:
            return None
        return there.focus.start.line, LineTable(text).slice(there.focus)

    part = Scope("part", "net.Part", None, "/work/net.py")
    gone = Scope("part", "net.Part", None, "/work/gone.py")
    inherits = Scope("net", "net.Net", None, "/work/net.py")

    assert line(class_of_graph(NET, read)) == (1, "Net")
    assert line(class_of_scope(NET, part, read)) == (2, "Part")
    assert line(method_of_scope(NET, inherits, read)) == (1, "Net")
    assert class_of_scope(NET, gone, read) is None
    assert class_of_scope(NET, Scope("fc", "torch.nn.Linear"), source_text) is None
