"""Letters outside of ASCII stay in texts and become underscores in names."""

import torch
from torch import nn

from fxls.engine import wrap
from tests.engine.zoo.literals import take

wrap("take")


class Foreign(nn.Module):
    def forward(self, größe, 值):
        return take(größe + 值, "größer – 更大 ✓", größe) * 值


INPUTS = (torch.ones(2), torch.ones(2))


# listing
fxls.engine.wrap("tests_engine_zoo_literals_take")

def forward(self, größe, 值):
    gr_e = größe
    _ = 值
    add = gr_e + _
    take = tests_engine_zoo_literals_take(add, 'größer – 更大 ✓', gr_e);  add = gr_e = None
    mul = take * _;  take = _ = None
    return mul
