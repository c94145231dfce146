"""Models that torch's own tools trace, capture and export."""

from typing import Any, cast

import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2 + x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.block = Block()
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.block(self.linear(x))
        return (hidden + self.shift).sum(dim=1)


class Choosy(nn.Module):
    """Of another shape for inputs of another sign, as no graph can be."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return torch.relu(x)
        return torch.tanh(x)


class Choosing(nn.Module):
    """With both branches in its graph."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cond: Any = cast("Any", torch).cond
        return cond(x.sum() > 0, torch.sin, torch.cos, (x,))


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Broken(nn.Module):
    """With a place in its middle where a graph must end."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.linear(x))
        torch._dynamo.graph_break()  # pyright: ignore[reportPrivateUsage]  # its public name
        return hidden * 2
