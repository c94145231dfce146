"""A module for what the documents define and do not call.

Its annotations are classes, so this file does without those of the future.
"""

import torch
from torch import nn

__all__ = ["Sample"]


class Sample(nn.Module):
    """It has a node of every opcode, and calls what transforms commonly look for."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.linspace(-1, 1, 3))
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Whatever the input is: it is made to be recorded."""
        y = nn.functional.relu(torch.add(self.layer(x), self.bias))
        return y.neg() * torch.sigmoid(x)
