"""Modules, parameters and buffers may be named by words that Python keeps for itself."""

# pyright: basic

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.heads = nn.ModuleDict({"class": nn.ReLU(), "in": nn.Tanh()})
        self.register_parameter("is", nn.Parameter(torch.ones(width)))
        self.register_buffer("def", torch.ones(width))

    def forward(self, x):
        x = x * getattr(self, "is") + getattr(self, "def")  # noqa: B009
        return {name: head(x) for name, head in self.heads.items()}


INPUTS = (torch.ones(2),)


# listing
def forward(self, x):
    is_1 = getattr(self, "is")
    mul = x * is_1;  x = is_1 = None
    def_1 = getattr(self, "def")
    add = mul + def_1;  mul = def_1 = None
    heads_class = getattr(self.heads, "class")(add)
    heads_in = getattr(self.heads, "in")(add);  add = None
    return {'class': heads_class, 'in': heads_in}
