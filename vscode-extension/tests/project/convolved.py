"""A model without an entry, whose first layer says what it takes."""

import torch
from torch import nn


class Stem(nn.Module):
    def __init__(self, n_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(n_channels, 8, 3)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        features = self.conv(image)
        return features.relu()
