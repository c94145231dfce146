"""Parameters are read where they are first used, once for each path."""

import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.scale = nn.Parameter(torch.full((width,), 2.0))
        self.linear = nn.Linear(width, width)
        self.register_buffer("offset", torch.ones(width))

    def forward(self, x):
        x = x * self.scale + self.offset
        return x @ self.linear.weight * self.scale


INPUTS = (torch.ones(2, 3),)


# listing
def forward(self, x):
    scale = self.scale
    mul = x * scale;  x = None
    offset = self.offset
    add = mul + offset;  mul = offset = None
    linear_weight = self.linear.weight
    matmul = add @ linear_weight;  add = linear_weight = None
    mul_1 = matmul * scale;  matmul = scale = None
    return mul_1
