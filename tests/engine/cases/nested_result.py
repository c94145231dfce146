"""The result is written as it was nested, with names in place of values."""

import torch
from torch import nn


class Nested(nn.Module):
    def forward(self, x):
        y = x.relu()
        return {"y": y, "all": [(x, y), {"n": 3, "none": None}]}, (y,)


INPUTS = (torch.ones(2),)


# listing
def forward(self, x):
    relu = x.relu()
    return ({'y': relu, 'all': [(x, relu), {'n': 3, 'none': None}]}, (relu,))
