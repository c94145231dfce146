"""Where a node is bound and read."""

from __future__ import annotations

from fxls.ide.document_highlights import highlights
from fxls.ide.references import references
from tests.ide.nets import NET, TEXT, at
from tests.support.drawing import drawn


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


def test_only_a_name_has_references() -> None:
    assert references(NET, at("    view = relu.v$0iew(-1);  relu = None")) == ()
    assert highlights(NET, at("im$0port torch")) == ()
