"""Nodes and modules as callers and callees."""

from __future__ import annotations

from fxls.ide.call_hierarchy import Call, callees, callers, item_at, item_of
from tests.ide.nets import NET, at


def calls_text(calls: tuple[Call, ...]) -> list[str]:
    return [
        f"{call.item.name}: " + ", ".join(map(NET.lines.slice, call.spans))
        for call in calls
    ]


def test_what_reads_a_node_calls_it() -> None:
    relu = item_at(NET, at("    re$0lu = torch.relu(conv);  conv = None"))

    assert relu is not None
    assert (relu.name, relu.detail) == ("relu", "torch.relu → f32[1, 4, 8, 8]")
    assert calls_text(callers(NET, relu)) == ["block_fc: relu", "view: relu"]
    assert calls_text(callees(NET, relu)) == ["conv: conv"]
    assert item_of(NET, relu.first, relu.scope) == relu


def test_the_forward_and_its_modules_call_what_is_in_them() -> None:
    forward = item_at(NET, at("d$0ef forward(self, x):"))
    assert forward is not None
    inside = [call.item for call in callees(NET, forward)]
    block = next(item for item in inside if item.kind == "module")

    assert [item.name for item in inside] == [
        "x",
        "conv",
        "relu",
        "block",
        "view",
        "add",
        "output",
    ]
    assert [call.item.name for call in callees(NET, block)] == ["block_fc", "mul"]
    assert [call.item for call in callers(NET, block)] == [forward]
    assert callers(NET, forward) == ()
    assert item_of(NET, block.first, block.scope) == block


def test_an_item_that_is_not_in_the_listing_is_nothing() -> None:
    assert item_at(NET, at("impor$0t torch")) is None
    assert item_of(NET, 99, None) is None
    assert item_of(NET, -1, None) is None
    assert item_of(NET, 0, 7) is None
