"""Subscripts are written with slice objects, whose bounds may be values."""

import torch
from torch import nn


class Sliced(nn.Module):
    def forward(self, x):
        n = x.size(0) // 2
        return x[:n, ..., 1:], x[n:, None], x[-1]


INPUTS = (torch.arange(24.0).reshape(4, 3, 2),)


# listing
def forward(self, x):
    size = x.size(0)
    floordiv = size // 2;  size = None
    getitem = x[(slice(None, floordiv, None), Ellipsis, slice(1, None, None))]
    getitem_1 = x[(slice(floordiv, None, None), None)];  floordiv = None
    getitem_2 = x[-1];  x = None
    return (getitem, getitem_1, getitem_2)
