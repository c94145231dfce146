"""The models whose graphs the samples hold; `make.py` and the tests import this file."""

# The lines of this file are in the samples, as the places that nodes came from.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

import torch
from torch import nn

from fxls import engine as fx


def clipped(value, most):
    return value.clamp(max=most)


fx.wrap("clipped")


class Gate(nn.Module):
    """A submodule, a parameter, a buffer, a wrapped function, slices and operators."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(6, 4)
        self.slope = nn.Parameter(torch.full((4,), 0.25))
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, signal):
        opened = torch.sigmoid(self.project(signal)) * self.slope
        return clipped(opened + self.shift, 2.5)[..., 1:]


class Blend(nn.Module):
    """Nested arguments and results, a fixed one and one that is None."""

    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, parts, mask=None, power=2):
        mixed = self.gate(parts["left"]) - parts["right"]
        if mask is not None:
            mixed = mixed * mask
        return {"mixed": mixed**power, "least": mixed.amin()}


class Whole(fx.Tracer):
    """A tracer that calls gates as one node."""

    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, Gate) or super().is_leaf_module(m, module_qualified_name)
