# pyright: basic
"""The modules that FX's documents trace."""

import torch
from torch import nn


class MyModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return self.linear(x + self.param).clamp(min=0.0, max=1.0)


class TopK(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return torch.topk(
            torch.sum(self.linear(x + self.linear.weight).relu(), dim=-1), 3
        )


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


class Activated(nn.Module):
    def __init__(self, do_activation):
        super().__init__()
        self.do_activation = do_activation
        self.linear = nn.Linear(512, 512)

    def forward(self, x):
        x = self.linear(x)
        if self.do_activation:
            x = torch.relu(x)
        return x


class MySpecialSubmodule(nn.Module):
    def forward(self, x):
        return torch.neg(x)


class WithSubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.submod = MySpecialSubmodule()

    def forward(self, x):
        return self.submod(self.linear(x))


class DropoutRepro(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, training=self.training)


class DropoutRepro2(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(x)
