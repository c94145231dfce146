"""Inputs keep their names, and values that would have the same get a number."""

import torch
from torch import nn


class Clashes(nn.Module):
    def forward(self, add, relu, max, inf=1.0):
        total = add + relu
        return torch.relu(total) + torch.relu(max) + inf


INPUTS = (torch.ones(2), torch.ones(2), torch.ones(2))


# listing
def forward(self, add, relu, max, inf = 1.0):
    max_1 = max
    inf_1 = inf
    add_1 = add + relu;  add = relu = None
    relu_1 = torch.relu(add_1);  add_1 = None
    relu_2 = torch.relu(max_1);  max_1 = None
    add_2 = relu_1 + relu_2;  relu_1 = relu_2 = None
    add_3 = add_2 + inf_1;  add_2 = inf_1 = None
    return add_3
