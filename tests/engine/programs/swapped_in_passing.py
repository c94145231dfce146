# A Transformer runs a graph on proxies; what its steps return is the new graph.
import torch
from torch import nn

from fxls import engine as fx


class Rounding(nn.Module):
    def forward(self, amount, fee):
        return torch.floor(amount) + fee.ceil() + torch.floor(fee).ceil()


class Swapped(fx.Transformer):
    def call_function(self, target, args, kwargs):
        if target is torch.floor:
            (rounded,) = args
            return rounded.trunc()
        return super().call_function(target, args, kwargs)

    def call_method(self, target, args, kwargs):
        step = {"ceil": torch.floor}.get(target)
        return step(*args) if step else super().call_method(target, args, kwargs)


other = Swapped(fx.symbolic_trace(Rounding())).transform()
print(other.code)
print(other(torch.tensor(-2.5), torch.tensor(0.75)))
