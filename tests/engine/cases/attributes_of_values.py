"""An attribute of a value is read when it is used; a method is called on the value."""

import torch
from torch import nn


class Attributes(nn.Module):
    def forward(self, x):
        return x.mT.shape[0], x.new_ones(x.shape, device=x.device).dtype


INPUTS = (torch.ones(2, 3),)


# listing
def forward(self, x):
    getattr_1 = x.mT
    getattr_2 = getattr_1.shape;  getattr_1 = None
    getitem = getattr_2[0];  getattr_2 = None
    getattr_3 = x.shape
    getattr_4 = x.device
    new_ones = x.new_ones(getattr_3, device = getattr_4);  x = getattr_3 = getattr_4 = None
    getattr_5 = new_ones.dtype;  new_ones = None
    return (getitem, getattr_5)
