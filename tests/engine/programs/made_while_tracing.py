# A tensor that is made while tracing is a constant, unless its maker is wrapped.
import torch

from fxls import engine as fx


@fx.wrap
def noise_like(x, strength=0.5):
    return torch.rand_like(x) * strength


def noisy(x):
    return noise_like(x, strength=2) + x


def frozen(x):
    return torch.rand(4) * 2 + x - torch.eye(1)


quiet = torch.zeros(4)
for program in (noisy, frozen):
    module = fx.symbolic_trace(program)
    print(module.graph)
    print(torch.equal(module(quiet), module(quiet)), list(dict(module.named_buffers())))
