"""The class that a node belongs to."""

from __future__ import annotations

from fxls.ide.type_definition import type_definition
from tests.ide.nets import NET, at, source_text
from tests.support.cards import jump_text


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
