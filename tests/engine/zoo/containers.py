# pyright: basic
"""Modules inside of modules."""

import torch
from torch import nn

from tests.engine.zoo.registry import example


class Block(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale


@example((2, 4))
class InSequential(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), Block(width))

    def forward(self, x):
        return self.layers(x)


@example((2, 4))
class InNamedSequential(nn.Sequential):
    def __init__(self, width=4):
        super().__init__()
        self.add_module("first", nn.Linear(width, width))
        self.add_module("2nd", nn.Tanh())


@example((2, 4))
class InModuleList(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


@example((2, 4))
class InModuleDict(nn.Module):
    def __init__(self, left=2, right=3):
        super().__init__()
        self.heads = nn.ModuleDict(
            {"left": nn.Linear(4, left), "right": nn.Linear(4, right)}
        )

    def forward(self, x):
        return {name: head(x) for name, head in self.heads.items()}


@example((2, 4))
class InParameterList(nn.Module):
    def __init__(self, count=2):
        super().__init__()
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.ones(4)) for _ in range(count)]
        )

    def forward(self, x):
        for weight in self.weights:
            x = x * weight
        return x


@example((2, 4))
class InParameterDict(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.weights = nn.ParameterDict({"up": nn.Parameter(torch.ones(width))})

    def forward(self, x):
        return x * self.weights["up"]


@example((2, 4))
class Nested(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.outer = nn.Sequential(
            nn.Sequential(Block(width), nn.Sequential(Block(width)))
        )

    def forward(self, x):
        return self.outer(x)


@example((2, 4))
class CalledTwice(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.block = Block(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.block(self.linear(self.block(self.linear(x))))


@example((2, 4))
class TwoNames(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.encoder = nn.Linear(width, width)
        self.decoder = self.encoder

    def forward(self, x):
        return self.decoder(self.encoder(x))


@example((2, 4))
class TiedWeights(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x)) @ self.second.weight


@example((2, 4))
class DottedParameters(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.block = Block(width)
        self.layers = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x):
        return x @ self.layers[0].weight + self.block.linear.bias * self.block.scale


@example((2, 4))
class UnusedModules(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.used = nn.Linear(width, width)
        self.unused = Block(width)
        self.register_buffer("idle", torch.zeros(2))

    def forward(self, x):
        return self.used(x)


@example((2, 4))
class InheritedForward(InModuleList):
    pass


@example((2, 4))
class CallsOwnMethod(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.head(self.body(x))

    def body(self, x):
        return self.linear(x).tanh()

    def head(self, x):
        return x.sum(dim=-1)
