"""The tracer of hls4ml takes layers as they are, also those in a Sequential."""

from __future__ import annotations

import importlib
from typing import Any

import torch
import torch.fx
from torch import nn

hls: Any = importlib.import_module("hls4ml.utils.torch")


class Own(hls.HLS4MLModule):
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Sequential(nn.ReLU(), Own())
        )
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.head(torch.flatten(self.layers(x).mean((2, 3)), 1))


def test_each_layer_is_a_call() -> None:
    model = Model().eval()
    graph: Any = hls.CustomFXTracer().trace(model)
    traced: Any = torch.fx.GraphModule(model, graph)
    x = torch.randn(2, 3, 8, 8)

    assert [n.target for n in graph.nodes if n.op == "call_module"] == [
        "layers.0",
        "layers.1",
        "layers.2.0",
        "layers.2.1",
        "head",
    ]
    assert torch.equal(traced(x), model(x))
