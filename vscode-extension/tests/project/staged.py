"""A model that torch.compile brings through all its stages."""

import torch
from torch import nn


class Staged(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.linear(x))
        return hidden + x


if __name__ == "__main__":
    net = torch.compile(Staged(4))
    for _ in range(2):
        net(torch.ones(2, 4)).sum().backward()
