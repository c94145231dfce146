"""Unpacking reads each element; what nobody uses is freed in its own line."""

import torch
from torch import nn


class Split(nn.Module):
    def forward(self, x):
        left, unused, right = x.chunk(3, dim=-1)
        return left + right


INPUTS = (torch.arange(12.0).reshape(2, 6),)


# listing
def forward(self, x):
    chunk = x.chunk(3, dim = -1);  x = None
    getitem = chunk[0]
    getitem_1 = chunk[1];  getitem_1 = None
    getitem_2 = chunk[2];  chunk = None
    add = getitem + getitem_2;  getitem = getitem_2 = None
    return add
