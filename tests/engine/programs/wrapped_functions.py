# Functions that know nothing of torch are recorded as calls when they are wrapped.
import bisect
from math import hypot

import torch

from fxls import engine as fx


def placed(x, borders):
    radius = hypot(x.size(0), x.size(1))
    return x / radius + bisect_left(borders, len(x))


def bisect_left(borders, value):
    return bisect.bisect_left(borders, value)


for name in ("len", "hypot", "bisect_left"):
    try:
        fx.symbolic_trace(placed)
    except (RuntimeError, TypeError) as error:
        print(f"before {name}: {str(error)[:53]}")
    fx.wrap(name)

recorded = fx.symbolic_trace(placed)
print(recorded.graph)
inputs = torch.ones(3, 4), [1, 2, 9]
print(torch.equal(recorded(*inputs), placed(*inputs)))
