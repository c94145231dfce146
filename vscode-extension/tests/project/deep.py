"""A model with ten thousand nodes."""

import torch
from torch import nn


class Deep(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(9_998):
            x = x + 1
        return x


# fxls: Deep()(torch.ones(1))
