"""Every frame behind a node, every node of an expression."""

from __future__ import annotations

from fxls.ide.implementation import implementation, source_implementation
from fxls.ide.listing.document import Document
from fxls.ide.source.source_file import SourceFile
from fxls.text import LineTable, Point
from tests.ide.nets import NET, at
from tests.support.cards import jump_text
from tests.support.listings import listing_of


def test_every_frame_is_an_implementation_innermost_first() -> None:
    jump = implementation(NET, at("    mu$0l = block_fc * 2;  block_fc = None"))

    assert jump_text(jump) == [
        "block.py:6:11-6:16",
        "block.py:2:15-2:33",
        "net.py:8:15-8:28",
    ]


def test_implementation_of_a_use_is_the_source_of_its_node() -> None:
    jump = implementation(NET, at("    relu = torch.relu(co$0nv);  conv = None"))

    assert jump_text(jump) == ["net.py:7:23-7:35"]


def test_an_expression_of_a_loop_leads_to_as_many_places_as_can_be_shown() -> None:
    lines = ["def forward(self, x):"]
    lines += [f"    r{n} = torch.relu(x)" for n in range(1200)]
    path, call = "/work/loop.py", "torch.relu(x)"
    listing = listing_of(
        "\n".join([*lines, "    return r0", ""]),
        sources={path: f"{call}\n"},
        origins={f"r{n}": [(path, call)] for n in range(1200)},
    )
    source = SourceFile(path, LineTable(call), (Document("/work/.fxls/L.py", listing),))

    jump = source_implementation(source, Point(0, 3))

    assert jump is not None
    assert [there.focus.start.line for there in jump.destinations] == [*range(1, 1001)]
