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
        return torch.relu(x)


@example((2, 3))
class CallsMethod(nn.Module):
    def forward(self, x):
        return x.relu()


@example((2, 3))
class CallsModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x):
        return self.linear(x)


@example((2, 3))
class ReadsParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.weight


@example((2, 3))
class ReadsBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.full((3,), 2.0))

    def forward(self, x):
        return x * self.scale


@example((2, 3))
class ReadsConstant(nn.Module):
    def __init__(self):
        super().__init__()
        self.constant = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x):
        return x + self.constant


@example((2, 3))
class MakesConstants(nn.Module):
    def forward(self, x):
        once = torch.ones(3)
        return x + once + once - torch.ones(3)


@example((3, 4))
class Documented(nn.Module):
    """The module of FX's own documentation."""

    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return self.linear(x + self.param).clamp(min=0.0, max=1.0)


@example((3, 4))
class TopK(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return torch.topk(
            torch.sum(self.linear(x + self.linear.weight[0]).relu(), dim=-1), 3
        )


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
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self):
        return self.weight + 1


@example((2, 3))
class CallsOperator(nn.Module):
    def forward(self, x):
        return torch.ops.aten.add.Tensor(torch.ops.aten.sin(x), x, alpha=2)
