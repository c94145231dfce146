"""NIRTorch takes a module apart into a graph of NIR, and makes a module of it again."""

from __future__ import annotations

import importlib
from typing import Any, cast

import torch
from torch import nn

nir: Any = importlib.import_module("nir")
nirtorch: Any = importlib.import_module("nirtorch")
tracer: Any = importlib.import_module("nirtorch.torch_tracer")
interpreter: Any = importlib.import_module("nirtorch.nir_interpreter")


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.last = nn.Linear(3, 2, bias=False)

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        return self.last(y + self.second(y))


def test_a_module_becomes_a_graph() -> None:
    graph: Any = tracer.torch_to_nir(Branches(), {}, type_check=False)

    kinds = sorted(type(node).__name__ for node in graph.nodes.values())
    assert kinds == ["Affine", "Affine", "Input", "Linear", "Output"]
    assert len(graph.edges) == 5


def test_a_graph_becomes_a_module_of_its_layers() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    graph: Any = tracer.torch_to_nir(model, {}, type_check=False)
    again: Any = interpreter.nir_to_torch(graph, {})
    x = torch.randn(5, 3)

    result: Any = again(x)
    if type(result) is tuple:
        result = cast("Any", result)[0]
    first, second = (one for one in again.modules() if isinstance(one, nn.Linear))
    torch.testing.assert_close(result, second(first(x)))
