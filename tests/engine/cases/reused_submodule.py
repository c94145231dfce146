"""A submodule that is called twice has two lines; one below a number is read by name."""

import torch
from torch import nn


class Twice(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(width, width), nn.Tanh()])

    def forward(self, x):
        first, second = self.blocks
        return second(first(second(first(x))))


INPUTS = (torch.ones(2, 3),)


# listing
def forward(self, x):
    blocks_0 = getattr(self.blocks, "0")(x);  x = None
    blocks_1 = getattr(self.blocks, "1")(blocks_0);  blocks_0 = None
    blocks_2 = getattr(self.blocks, "0")(blocks_1);  blocks_1 = None
    blocks_3 = getattr(self.blocks, "1")(blocks_2);  blocks_2 = None
    return blocks_3
