"""Models whose listings are looked at from every side."""

import math
import warnings

import torch
from torch import nn
from torch.nn import functional

from fxls import engine as fx


def halved(x: torch.Tensor, by: int = 2) -> torch.Tensor:
    if len(x) == 0:
        warnings.warn("an empty batch", stacklevel=2)
    return x / by


fx.wrap("halved")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * self.scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.block = Block()

    def forward(self, x: torch.Tensor, y: None = None) -> tuple[torch.Tensor, float]:
        hidden = self.block(self.linear(x))
        return halved(hidden.sum(dim=1), by=4), math.inf


class Unreadable(nn.Module):
    """A module that cannot even be printed."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def __repr__(self) -> str:
        raise RuntimeError("not printable")


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Unreadable()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.gelu(self.inner(x))


def increased(x: torch.Tensor) -> torch.Tensor:
    return x + 1
