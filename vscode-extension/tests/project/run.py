"""Traces the model and calls what was generated."""

import torch
from net import Net

import fxls
from fxls import engine as fx

fxls.install()
gm = fx.symbolic_trace(Net())
y = gm(torch.ones(2, 4))
print("ran", tuple(y.shape))
