# Functions that do not know of torch are recorded when they are wrapped.
import torch
from math import sqrt
from fxls import engine as fx


def normalize(x):
    """
    Normalize `x` by the size of the batch dimension
    """
    return x / sqrt(len(x))


normalize(torch.rand(3, 4))
try:
    fx.symbolic_trace(normalize)
except RuntimeError as error:
    print(str(error)[:53])

fx.wrap("len")
fx.wrap("sqrt")

traced = fx.symbolic_trace(normalize)
print(traced.graph)
x = torch.rand(3, 4)
print(torch.equal(traced(x), normalize(x)))
