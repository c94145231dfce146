"""From name to name in a listing, and from a node to its source."""

from __future__ import annotations

from msgspec.structs import replace

from fxls.ide.declaration import declaration
from fxls.ide.definition import definition
from fxls.ide.document_highlights import highlights
from fxls.ide.implementation import implementation
from fxls.ide.listing.document import Document
from fxls.ide.references import references
from fxls.ide.type_definition import type_definition
from fxls.listing import Scope, Target
from fxls.text import LineTable, Point
from tests.ide.nets import BLOCK_PATH, NET, SOURCE, TEXT, source_text
from tests.support.cards import jump_text
from tests.support.drawing import cursor, drawn


def at(marked: str) -> Point:
    line, point = cursor(marked)
    return Point(TEXT.split("\n").index(line), point.column)


def test_a_use_leads_to_the_name_that_binds() -> None:
    jump = definition(NET, at("    relu = torch.relu(co$0nv);  conv = None"))

    assert jump is not None
    assert jump_text(jump) == ["Net_0123456789ab.py:3:4-3:8"]
    assert drawn(TEXT, [(jump.span, "")]) == (
        "    relu = torch.relu(conv);  conv = None\n                      ^^^^"
    )
    assert NET.lines.slice(jump.destinations[0].whole) == (
        "conv = self.conv(x);  x = None"
    )


def test_a_use_of_a_parameter_leads_to_the_parameter() -> None:
    jump = definition(NET, at("    conv = self.conv(x$0);  x = None"))

    assert jump_text(jump) == ["Net_0123456789ab.py:2:18-2:19"]


def test_a_name_that_is_freed_leads_to_where_it_is_bound() -> None:
    jump = definition(NET, at("    conv = self.conv(x);  $0x = None"))

    assert jump_text(jump) == ["Net_0123456789ab.py:2:18-2:19"]


def test_a_name_that_binds_leads_to_the_exact_expression() -> None:
    jump = definition(NET, at("    co$0nv = self.conv(x);  x = None"))

    assert jump is not None
    assert jump_text(jump) == ["net.py:7:23-7:35"]
    assert LineTable(SOURCE).slice(jump.destinations[0].focus) == "self.conv(x)"


def test_of_several_frames_the_innermost_is_the_definition() -> None:
    jump = definition(NET, at("    mu$0l = block_fc * 2;  block_fc = None"))

    assert jump_text(jump) == ["block.py:6:11-6:16"]


def test_every_frame_is_an_implementation_innermost_first() -> None:
    jump = implementation(NET, at("    mu$0l = block_fc * 2;  block_fc = None"))

    assert jump_text(jump) == [
        "block.py:6:11-6:16",
        "block.py:2:15-2:33",
        "net.py:8:15-8:28",
    ]


def test_the_rest_of_a_statement_leads_to_the_source_too() -> None:
    jump = definition(NET, at("    view = relu.v$0iew(-1);  relu = None"))

    assert jump_text(jump) == ["net.py:8:31-10:9"]


def test_implementation_of_a_use_is_the_source_of_its_node() -> None:
    jump = implementation(NET, at("    relu = torch.relu(co$0nv);  conv = None"))

    assert jump_text(jump) == ["net.py:7:23-7:35"]


def test_a_node_whose_origin_nobody_knows_leads_nowhere() -> None:
    assert definition(NET, at("    retur$0n add")) is None
    assert definition(NET, at("im$0port torch")) is None
    assert implementation(NET, at("im$0port torch")) is None


def test_references_are_where_a_node_is_bound_and_read() -> None:
    found = references(NET, at("    view = re$0lu.view(-1);  relu = None"))

    assert drawn(TEXT, [(m.span, m.role.name) for m in found]).split("\n") == [
        "    relu = torch.relu(conv);  conv = None",
        "    ^^^^ BINDS",
        "    block_fc = self.block.fc(relu)",
        "                             ^^^^ READS",
        "    view = relu.view(-1);  relu = None",
        "           ^^^^ READS",
    ]


def test_highlights_have_also_where_a_name_is_freed() -> None:
    found = highlights(NET, at("def forward(self, $0x):"))

    assert [(m.span.start, m.role.name) for m in found] == [
        (Point(2, 18), "BINDS"),
        (Point(3, 21), "READS"),
        (Point(3, 26), "FREES"),
    ]


def test_only_a_name_has_references() -> None:
    assert references(NET, at("    view = relu.v$0iew(-1);  relu = None")) == ()
    assert highlights(NET, at("im$0port torch")) == ()


def test_the_type_of_a_node_is_the_class_of_its_submodule() -> None:
    on_def = type_definition(NET, at("d$0ef forward(self, x):"), source_text)
    on_add = type_definition(
        NET, at("    a$0dd = mul + view;  mul = None;  view = None"), source_text
    )
    in_block = type_definition(
        NET, at("    mu$0l = block_fc * 2;  block_fc = None"), source_text
    )
    of_torch = type_definition(
        NET, at("    co$0nv = self.conv(x);  x = None"), source_text
    )

    assert jump_text(on_def) == jump_text(on_add) == ["net.py:5:6-5:9"]
    assert jump_text(in_block) == ["block.py:0:6-0:11"]
    assert of_torch is None, "nobody said where torch.nn.Conv2d is"
    assert type_definition(NET, at("im$0port torch"), source_text) is None


def test_a_declaration_is_what_is_called() -> None:
    nodes = list(NET.listing.nodes)
    nodes[1] = replace(nodes[1], opcode="call_module", target="block", scope=2)
    nodes[2] = replace(nodes[2], call=0)
    document = Document(
        NET.path,
        replace(
            NET.listing,
            nodes=tuple(nodes),
            scopes=(*NET.listing.scopes[:2], Scope("block", "block.Block")),
            targets=(Target("double", "(x)", BLOCK_PATH, 5),),
        ),
    )

    def there(marked: str) -> list[str]:
        return jump_text(declaration(document, at(marked), source_text))

    assert there("    co$0nv = self.conv(x);  x = None") == ["block.py:1:8-1:15"]
    assert there("    re$0lu = torch.relu(conv);  conv = None") == ["block.py:5:0-5:0"]
    assert there("    relu = torch.relu(co$0nv);  conv = None") == [
        "Net_0123456789ab.py:3:4-3:8"
    ]
    assert there("    vi$0ew = relu.view(-1);  relu = None") == ["net.py:8:31-10:9"]
