"""A tensor that belongs to no module becomes an attribute; equal ones stay two."""

import torch
from torch import nn


class Constants(nn.Module):
    def forward(self, x):
        same = torch.ones(3)
        return x + same + same + torch.ones(3)


INPUTS = (torch.zeros(3),)


# listing
def forward(self, x):
    _tensor_constant0 = self._tensor_constant0
    add = x + _tensor_constant0;  x = _tensor_constant0 = None
    _tensor_constant0_1 = self._tensor_constant0
    add_1 = add + _tensor_constant0_1;  add = _tensor_constant0_1 = None
    _tensor_constant1 = self._tensor_constant1
    add_2 = add_1 + _tensor_constant1;  add_1 = _tensor_constant1 = None
    return add_2
