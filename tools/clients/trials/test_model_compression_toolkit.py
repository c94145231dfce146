# pyright: reportUnknownMemberType=false
"""Sony's toolkit reads a model through symbolic_trace, and quantizes the graph."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

mct: Any = importlib.import_module("model_compression_toolkit")
X = torch.linspace(-1, 1, 3 * 8 * 8).reshape(1, 3, 8, 8)


class Net(nn.Module):
    """A convolution with a normalisation to fold, a branch, and a slice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.normed = nn.BatchNorm2d(8)
        self.last = nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.normed(self.first(x)))
        x = torch.cat([x, torch.nn.functional.relu(x) + 0.5 * x], 1)[:, :8]
        return self.last(x.mean((2, 3)))


def images() -> Iterator[list[Any]]:
    for seed in range(2):
        yield [np.random.default_rng(seed).standard_normal((1, 3, 8, 8), np.float32)]


def test_a_quantized_model_is_near_the_model() -> None:
    torch.manual_seed(0)
    model = Net().eval()

    made, _ = mct.ptq.pytorch_post_training_quantization(model, images)

    assert (made(X) - model(X)).abs().max() < 0.1
    assert "last_activation_holder_quantizer" in dict(made.named_modules())


def test_its_reader_makes_a_graph_of_every_operation() -> None:
    torch_side = "model_compression_toolkit.core.pytorch"
    reader: Any = importlib.import_module(f"{torch_side}.reader.reader")
    tensors: Any = importlib.import_module(f"{torch_side}.utils")
    to_numpy, to_tensor = tensors.torch_tensor_to_numpy, tensors.to_torch_tensor

    graph = reader.model_reader(Net().eval(), images, to_numpy, to_tensor)

    assert sorted(node.name for node in graph.nodes) == [
        *("add", "cat", "first", "getitem", "last", "mean", "mul", "normed"),
        *("relu", "relu_1", "x"),
    ]
