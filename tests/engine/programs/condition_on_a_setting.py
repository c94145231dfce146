# What depends on a setting of the module is decided while tracing.
import torch
from torch import nn

from fxls import engine as fx


class Encoder(nn.Module):
    def __init__(self, depth, *, normed):
        super().__init__()
        self.depth = depth
        self.norm = nn.RMSNorm(6) if normed else None

    def forward(self, x):
        for level in range(self.depth):
            x = torch.roll(x, level + 1) - x
        return x if self.norm is None else self.norm(x)


for depth, normed in ((0, True), (2, False), (1, True)):
    print(depth, normed, fx.symbolic_trace(Encoder(depth, normed=normed)).code)
