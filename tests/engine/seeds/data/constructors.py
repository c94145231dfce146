# Tensors that are made while tracing are constants, unless their maker is wrapped.
import torch
from fxls import engine as fx


@fx.wrap
def torch_randn(x, shape):
    return torch.randn(shape)


def f(x):
    return x + torch_randn(x, 5)


def g(x):
    return x + torch.randn(5)


wrapped, constant = fx.symbolic_trace(f), fx.symbolic_trace(g)
print(wrapped.graph)
print(constant.graph)
x = torch.zeros(5)
print(torch.equal(wrapped(x), wrapped(x)), torch.equal(constant(x), constant(x)))
