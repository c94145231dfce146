"""Small models of three kinds, compiled by inductor: each test runs them in a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.models import Bottleneck, Gpt

any_torch: Any = torch


class ResNet(nn.Module):
    """One block of a ResNet, and what stands in front of and behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.block = Bottleneck(8, 16, downsamples=True)
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(functional.relu(self.norm(self.stem(x))), 2)
        return self.head(self.block(x).mean((2, 3)))


class Sized(nn.Module):
    """A model whose batch and length may be any."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(x.shape[0] * x.shape[1], 16)
        scores = (rows @ self.weight).softmax(-1)
        return scores.sum(0) / x.shape[1] + x.mean()


def gpt() -> None:
    """A step of training: forward and backward."""
    model, words = Gpt(1), torch.zeros(2, 4, dtype=torch.long)
    logits: Any = any_torch.compile(model)(words)
    loss: Any = functional.cross_entropy(logits.flatten(0, 1), words.flatten())
    loss.backward()


def resnet() -> None:
    """An evaluation."""
    model = any_torch.compile(ResNet().eval())
    with torch.no_grad():
        model(torch.ones(2, 3, 16, 16))


def trained() -> None:
    """A step of training, in which a norm writes to what it was given."""
    model: Any = any_torch.compile(ResNet())
    model(torch.ones(2, 3, 16, 16)).sum().backward()


def sized() -> None:
    """With gradients, of two sizes."""
    model: Any = any_torch.compile(Sized(), dynamic=True)
    for length in (3, 5):
        model(torch.ones(2, length, 16)).sum().backward()


MODELS: dict[str, Callable[[], None]] = {
    "gpt": gpt,
    "resnet": resnet,
    "trained": trained,
    "sized": sized,
}
