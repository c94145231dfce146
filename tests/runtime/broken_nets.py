"""Models in which a value, or a gradient, can go bad at a node that is known."""

import torch
from torch import nn


class Rooted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        root = torch.sqrt(x)
        return root + 1


class Inverse(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.reciprocal(x) * x


class Masked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        masked = x.masked_fill(x > 1, float("-inf"))
        return torch.softmax(masked + 1, 0) / x


class Eighth(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.float8_e4m3fn).to(torch.float32)


class InPlace(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        y.sqrt_()
        return y + x


class Split(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = torch.split(torch.sqrt(x), 1)
        return first + second


class Number(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.log(x).item() * 0


class Promoting(nn.Module):
    wide: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("wide", torch.ones(2, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        single = torch.relu(x.double().float()) * torch.ones((), dtype=torch.float64)
        return torch.relu(single + self.wide)


class Pairs(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = torch.split(torch.relu(x), [1, x.shape[1] - 1], dim=1)
        return first.sum() + second.sum()


class FlatRoot(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = torch.relu(x) * 0
        return torch.sqrt(flat).contiguous().sum()


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (torch.sqrt(self.scale) * x).sum()


class Scale(nn.Module):
    """Its parameter has a gradient that is NaN at 0, and its input has none."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sqrt(self.factor * 0) + self.factor


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), Scale())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).sum()


class Long(nn.Module):
    """A row of nodes of which one makes NaN of what is below 0."""

    def __init__(self, nodes: int, planted: int) -> None:
        super().__init__()
        self.nodes, self.planted = nodes, planted

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(self.nodes):
            x = torch.log(x) if i == self.planted else x + 0
        return x


class LongGradient(Long):
    """One whose backward makes NaN of what comes to it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(self.nodes):
            x = torch.sqrt(x * 0) if i == self.planted else x + 0
        return x
