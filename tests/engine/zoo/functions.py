# pyright: basic
# ruff: noqa: N812, RET504 - as people write models
"""Functions that are called: torch's, Python's, and one's own."""

import math
import operator

import torch
import torch.nn.functional as F
from torch import nn

import fxls.engine
from tests.engine.zoo import helpers
from tests.engine.zoo.helpers import decorated, normalized, opaque
from tests.engine.zoo.registry import example

for wrap in (fxls.engine.wrap, torch.fx.wrap):
    wrap("opaque")
    wrap("len")
    wrap("sqrt")


def sqrt(x):
    return math.sqrt(x)


@example((2, 3))
class Functionals(nn.Module):
    def forward(self, x):
        x = F.relu(x, inplace=False) + F.leaky_relu(x, 0.1) + F.gelu(x)
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.layer_norm(x, (3,)) + F.softmax(x, dim=-1)
        return F.pad(x, (1, 1), value=0.5), F.mse_loss(x, x * 2)


@example((2, 3))
class FunctionalLinear(nn.Module):
    def __init__(self, rows=4, columns=3):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(rows, columns))
        self.bias = nn.Parameter(torch.zeros(rows))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


@example((1, 3, 8, 8))
class FunctionalConvolution(nn.Module):
    def __init__(self, channels=3, size=3):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, channels, size, size))

    def forward(self, x):
        x = F.conv2d(x, self.weight, stride=(2, 2), padding=[1, 1])
        return F.max_pool2d(F.avg_pool2d(x, 2), kernel_size=2, stride=1, padding=0)


@example((2, 3), (2, 3))
class TorchFunctions(nn.Module):
    def forward(self, x, y):
        x = torch.cat([x, y], dim=1).view(-1).unsqueeze(0)
        x = torch.where(x > 0, x, torch.zeros_like(x))
        return torch.einsum("ij,kj->ik", x, x), torch.split(x, [4, 8], dim=1)


@example((2, 3))
class OtherNamespaces(nn.Module):
    def forward(self, x):
        y = torch.fft.fft(x).real + torch.special.expit(x)
        return torch.linalg.norm(y), torch.special.erf(y), torch.nn.functional.silu(y)


@example((2, 3), (2, 3))
class OperatorModule(nn.Module):
    def forward(self, x, y):
        return operator.add(x, y), operator.neg(x), operator.getitem((x, y), 1)


@example((2, 3))
class PythonFunctions(nn.Module):
    def forward(self, x):
        n = math.sqrt(x.shape[0]) + math.floor(x.size(1) / 2)
        return x * n, sum([x, x + 1]), getattr(x, "sum")(), getattr(x, "shape")  # noqa: B009


@example((2, 3))
class WrappedFunctions(nn.Module):
    def forward(self, x):
        return opaque(x, 2) * len(x) + sqrt(x.shape[1])


@example((2, 3), (2, 3))
class OtherFile(nn.Module):
    def forward(self, x, y):
        return normalized(decorated(x, y)) + helpers.scaled(x, by=3)


@example((2, 3))
class InContext(nn.Module):
    def forward(self, x):
        with helpers.scope():
            x = x + 1
        return x


@example((2, 3))
class DecoratedForward(nn.Module):
    @helpers.logged
    def forward(self, x):
        return x * 2


@example((2, 3))
class Properties(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    @property
    def doubled(self):
        return self.gain * 2

    @staticmethod
    def shifted(x):
        return x + 1

    def forward(self, x):
        return self.shifted(x) * self.doubled


@example((2, 3))
class NestedFunctions(nn.Module):
    def forward(self, x):
        def inner(value):
            def innermost(value):
                return value.sin()

            return innermost(value) + innermost(x)

        return inner(x * 2)


@example((2, 3))
class SideEffects(nn.Module):
    def forward(self, x):
        torch._assert(x.dim() == 2, "two dimensions")
        return x.sigmoid()
