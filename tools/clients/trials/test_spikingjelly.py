# pyright: reportUnknownMemberType=false
"""SpikingJelly converts a network into one that spikes, over its graph."""

from __future__ import annotations

import importlib
from typing import Any

import torch
import torch.fx
from torch import nn

ann2snn: Any = importlib.import_module("spikingjelly.activation_based.ann2snn")
recipes: Any = importlib.import_module(
    "spikingjelly.activation_based.ann2snn.recipes.rate_coding"
)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 10),
        nn.ReLU(),
    ).eval()


def test_a_network_is_converted_and_spikes_about_as_much_as_it_gave() -> None:
    model = network()
    batches = [(torch.rand(8, 1, 8, 8), torch.zeros(8)) for _ in range(4)]
    recipe: Any = recipes.RateCodingRecipe(dataloader=batches, mode="Max")
    converted: Any = ann2snn.FXConverter(recipe).convert(model)
    x = batches[0][0]

    with torch.no_grad():
        spikes = sum(converted(x) for _ in range(64)) / 64
        expected = model(x)

    assert isinstance(converted, torch.fx.GraphModule)
    assert not any(isinstance(one, nn.ReLU) for one in converted.modules())
    assert (spikes - expected).abs().mean() < 0.1


def test_a_reshape_is_recorded_while_torch_is_changed_for_the_trace() -> None:
    class Reshaped(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.reshape(x, (x.size(0), -1)).relu()

    own: Any = importlib.import_module(
        "spikingjelly.activation_based.ann2snn.converter"
    )
    traced: Any = own._symbolic_trace(Reshaped())
    x = torch.randn(2, 3, 4)

    assert torch.equal(traced(x), x.reshape(2, -1).relu())
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"] == [
        torch.reshape
    ]
