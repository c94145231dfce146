"""What nobody uses is still run, and freed at once; an assertion stays."""

import torch
from torch import nn


class Dead(nn.Module):
    def forward(self, x, unused):
        x.abs()
        torch._assert(x.dim() == 1, "one dimension")
        return x


INPUTS = (torch.ones(2), torch.ones(2))


# listing
def forward(self, x, unused):
    abs_1 = x.abs();  abs_1 = None
    dim = x.dim()
    eq = dim == 1;  dim = None
    _assert = torch._assert(eq, 'one dimension');  eq = _assert = None
    return x
