"""A model whose code says which Python has traced it."""

import local_number
import torch
from torch import nn


class Numbered(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + local_number.NUMBER


# fxls: Numbered()(torch.ones(2))
