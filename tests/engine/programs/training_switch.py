# `self.training`, passed to a function, is fixed by tracing; a submodule keeps its own.
import torch
from torch import nn
from torch.nn import functional

from fxls import engine as fx


class ByFunction(nn.Module):
    def forward(self, x):
        return functional.alpha_dropout(x, p=0.75, training=self.training)


class ByModule(nn.Sequential):
    def __init__(self):
        super().__init__(nn.AlphaDropout(p=0.75))


sample = torch.linspace(0, 1, 400)
for kind in (ByFunction, ByModule):
    for mode in (True, False):
        module = fx.symbolic_trace(kind().train(mode))
        kept = [torch.equal(module.train(switch)(sample), sample) for switch in (True, False)]
        print(kind.__name__, mode, kept)
    print(module.code)
