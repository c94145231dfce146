"""Where a cursor leads, from a listing and from a source."""

from __future__ import annotations

import pytest

from fxls.ide.definition import definition, source_definition
from fxls.ide.implementation import implementation
from fxls.ide.source.source_file import SourceFile
from fxls.text import LineTable, Point
from tests.ide.nets import (
    NET,
    SOURCE,
    SOURCE_PATH,
    TEXT,
    at,
)
from tests.support.cards import jump_text
from tests.support.drawing import cursor, drawn


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


def test_the_rest_of_a_statement_leads_to_the_source_too() -> None:
    jump = definition(NET, at("    view = relu.v$0iew(-1);  relu = None"))

    assert jump_text(jump) == ["net.py:8:31-10:9"]


def test_a_node_whose_origin_nobody_knows_leads_nowhere() -> None:
    assert definition(NET, at("    retur$0n add")) is None
    assert definition(NET, at("im$0port torch")) is None
    assert implementation(NET, at("im$0port torch")) is None


NET_FILE = SourceFile(SOURCE_PATH, LineTable(SOURCE), (NET,))


def at_in(source: SourceFile, marked: str) -> Point:
    line, point = cursor(marked)
    return Point(source.lines.text.split("\n").index(line), point.column)


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("        return self.block(y) $0+ y.view(", ["Net_0123456789ab.py:8:4-8:7"]),
        ("# fxls: Net()(to$0rch.randn(1, 3, 8, 8))", ["Net_0123456789ab.py:2:0-2:21"]),
        ("        y = torch.re$0lu(self.conv(x))", []),
        ("        y = torch.relu$0(self.conv(x))", []),
        ("class Ne$0t(torch.nn.Module):", []),
    ],
)
def test_definition_leaves_names_to_the_python_server(
    marked: str, expected: list[str]
) -> None:
    assert jump_text(source_definition(NET_FILE, at_in(NET_FILE, marked))) == expected
