"""A model that torch.compile makes more than one graph of, and that fills a screen."""

import torch
from torch import nn


class Compiled(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, size) for _ in range(40))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x + 1


if __name__ == "__main__":
    net = torch.compile(Compiled(4), backend="aot_eager")
    net(torch.ones(2, 4)).sum().backward()
