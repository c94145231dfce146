"""Models that raise when they run, and not when they are captured."""

from typing import Any, cast

import torch
from torch import nn


@torch.library.custom_op("fxls_tests::refuse", mutates_args=())
def refuse(x: torch.Tensor) -> torch.Tensor:
    """Raise, as no operator of torch's does on good shapes."""
    raise ValueError("refused")


cast("Any", refuse).register_fake(torch.empty_like)


class Unequal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        hidden = self.linear(x)
        return hidden + other


class Raising(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2
        return refuse(doubled)


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + 1


@torch.library.custom_op("fxls_tests::root", mutates_args=())
def root(x: torch.Tensor) -> torch.Tensor:
    """Raise for some values."""
    if bool((x < 0).any()):
        raise ValueError("negative")
    return x.sqrt()


cast("Any", root).register_fake(torch.empty_like)


def not_negative(x: torch.Tensor) -> torch.Tensor:
    """A function of the user's that a graph calls, where it is not looked into."""
    return root(x)


cast("Any", torch.fx).wrap("not_negative")


class Calling(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return not_negative(x * 2)


class NotTraceable(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no graph")
