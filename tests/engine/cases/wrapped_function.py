"""A wrapped function is called by a name that says where it is from, and marked again."""

import torch
from torch import nn

from fxls.engine import wrap
from tests.engine.zoo.literals import take

wrap("take")


class Wrapped(nn.Module):
    def forward(self, x):
        return take(x, 1, key=[x]) + 1


INPUTS = (torch.ones(2),)


# listing
fxls.engine.wrap("tests_engine_zoo_literals_take")

def forward(self, x):
    take = tests_engine_zoo_literals_take(x, 1, key = [x]);  x = None
    add = take + 1;  take = None
    return add
