# pyright: reportUnknownMemberType=false
"""torch-dag makes a graph of modules of a model, by a tracer of its own."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from torch import nn

unstructured: Any = importlib.import_module("torch_dag.core.unstructured_to_structured")
X = torch.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8)


class Block(nn.Module):
    """A branch, an addition, a mean, a reshape, and a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.act, self.flat = nn.ReLU(), nn.Flatten()
        self.second = nn.Conv2d(4, 4, 1)
        self.last = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        x = self.act(self.first(x))
        y = self.second(x) + x
        x = torch.cat([x, y], dim=1).mean((2, 3))
        return self.last(self.flat(x))


class Nested(nn.Module):
    """Blocks in a block."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.tail = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

    def forward(self, x: Any) -> Any:
        return self.tail(self.block(x)) * 2


@pytest.mark.parametrize("kind", [Block, Nested])
def test_a_model_becomes_a_graph_that_computes_the_same(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    expected = model(X)

    made = unstructured.build_from_unstructured_module(model)

    assert torch.allclose(made(X), expected, atol=1e-6)
    assert [type(v.module).__name__ for v in made.flatten().inner_vertices] != []
    assert torch.allclose(made.flatten()(X), expected, atol=1e-6)
