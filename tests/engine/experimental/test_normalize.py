"""Calls are spelt in one way, as torch.fx spells them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx
from torch import nn
from torch.fx.experimental import normalize as torch_normalize
from torch.fx.experimental.schema_type_annotation import (
    AnnotateTypesWithSchema as TorchAnnotate,
)

from fxls import engine as fx
from fxls.engine.experimental import normalize
from fxls.engine.experimental.schema_type_annotation import AnnotateTypesWithSchema
from tests.engine.same import assert_same
from tests.engine.zoo import Example, examples

_fx: Any = torch.fx
_F: Any = nn.functional
zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
quiet = pytest.mark.filterwarnings("ignore::UserWarning")  # of torch.fx, for some types


class Calls(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.pool = nn.MaxPool2d(2)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Any) -> Any:
        y = _F.max_pool2d(_F.relu(self.conv(x)), 2, return_indices=False)
        z = torch.add(y, self.scale)
        z = torch.div(z, 2) + torch.mul(z, other=3)
        dropped = _F.dropout(self.pool(z), 0.5, training=False)
        return (
            dropped.flatten(1),
            torch.flatten(z, 1),
            _F.interpolate(y, scale_factor=2),
        )


STEPS: list[Any] = [
    (normalize.NormalizeArgs, torch_normalize.NormalizeArgs, ()),
    (normalize.NormalizeArgs, torch_normalize.NormalizeArgs, (False,)),
    (normalize.NormalizeOperators, torch_normalize.NormalizeOperators, ()),
    (AnnotateTypesWithSchema, TorchAnnotate, ()),
]
steps = pytest.mark.parametrize(
    ("step", "torch_step", "settings"),
    STEPS,
    ids=["by name", "by position", "operators", "types"],
)


@quiet
@steps
def test_calls_become_those_of_torch_fx(
    step: Any, torch_step: Any, settings: Any
) -> None:
    model = Calls()
    ours = step(fx.symbolic_trace(model), *settings).transform()
    theirs = torch_step(_fx.symbolic_trace(model), *settings).transform()
    x = torch.randn(1, 3, 16, 16)

    assert str(ours.graph) == str(theirs.graph)
    assert_same(ours(x), model(x))


@quiet
@steps
@zoo
def test_the_zoo_becomes_that_of_torch_fx(
    step: Any, torch_step: Any, settings: Any, example: Example
) -> None:
    try:
        traced = _fx.symbolic_trace(example.make())
        theirs = torch_step(traced, *settings).transform()
    except Exception as error:  # noqa: BLE001 - ours must be refused as well
        with pytest.raises(type(error)):
            step(fx.symbolic_trace(example.make()), *settings).transform()
        return
    ours = step(fx.symbolic_trace(example.make()), *settings).transform()

    # Of a call with keywords torch.fx makes an operator without them.
    same = str(ours.graph) == str(theirs.graph)
    assert same == (step is not normalize.NormalizeOperators or not keywords(ours))


def keywords(module: Any) -> bool:
    """Whether a function that has an operator is called with keywords."""
    functions = normalize.NormalizeOperators.binary_magic_method_remap
    return any(node.target in functions and node.kwargs for node in module.graph.nodes)


def test_nodes_keep_origin_and_meta() -> None:
    module = fx.symbolic_trace(Calls())
    for node in module.graph.nodes:
        node.meta["name"] = node.name
    made = normalize.NormalizeArgs(module).transform()

    assert [n.origin for n in made.graph.nodes] == [
        n.origin for n in module.graph.nodes
    ]
    conv = next(n for n in made.graph.nodes if n.name == "conv")
    assert conv.meta["name"] == "conv"
