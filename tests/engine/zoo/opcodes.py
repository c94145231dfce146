# pyright: basic
"""One module for each thing that a node can do."""

import torch
from torch import nn

from tests.engine.zoo.registry import example


@example((2, 3))
class Identity(nn.Module):
    def forward(self, x):
        return x


@example((2, 3), (2, 3))
class FirstOfTwo(nn.Module):
    def forward(self, x, y):
        return x


@example((2, 3))
class CallsFunction(nn.Module):
    def forward(self, x):
        return torch.atan2(x, x)


@example((2, 3))
class CallsMethod(nn.Module):
    def forward(self, x):
        return x.frac()


@example((2, 3))
class CallsModule(nn.Module):
    def __init__(self, columns=3):
        super().__init__()
        self.centre = nn.LayerNorm(columns)

    def forward(self, rows):
        return self.centre(rows)


@example((2, 3))
class ReadsParameter(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.weight


@example((2, 3))
class ReadsBuffer(nn.Module):
    def __init__(self, width=3, by=2.0):
        super().__init__()
        self.register_buffer("scale", torch.full((width,), by))

    def forward(self, x):
        return x * self.scale


@example((2, 3))
class ReadsConstant(nn.Module):
    def __init__(self, constant=(1.0, 2.0, 3.0)):
        super().__init__()
        self.constant = torch.tensor(constant)

    def forward(self, x):
        return x + self.constant


@example((2, 3))
class MakesConstants(nn.Module):
    def forward(self, x):
        once = torch.ones(3)
        return x + once + once - torch.ones(3)


@example((2, 3), (2, 3))
class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


@example((3, 4))
class Pricing(nn.Module):
    """A node of every opcode, each once."""

    def __init__(self, goods=4, shops=5):
        super().__init__()
        self.discount = nn.Parameter(torch.linspace(0.1, 0.4, goods))
        self.till = nn.Linear(goods, shops)

    def forward(self, prices):
        return self.till(prices * self.discount).round(decimals=2)


@example((3, 6))
class Ranking(nn.Module):
    """A parameter of a part is read in passing, and the result is several values."""

    def __init__(self, criteria=6, judges=4):
        super().__init__()
        self.judges = nn.Linear(criteria, judges)

    def forward(self, entries):
        votes = self.judges(entries - self.judges.weight[1]).sigmoid()
        return torch.topk(torch.mean(votes, dim=0), k=2)


@example((2, 3))
class NothingUsed(nn.Module):
    def forward(self, x):
        torch.neg(x)
        x.abs()
        return x + 1


@example((2, 3))
class ReturnsNone(nn.Module):
    def forward(self, x):
        torch.neg(x)


@example()
class NoInputs(nn.Module):
    def __init__(self, size=2):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self):
        return self.weight + 1


@example((2, 3))
class CallsOperator(nn.Module):
    def forward(self, x):
        return torch.ops.aten.add.Tensor(torch.ops.aten.sin(x), x, alpha=2)
