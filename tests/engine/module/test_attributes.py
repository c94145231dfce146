# torch says little of the types of its own.
# pyright: reportUnknownMemberType=false
"""Modules that a graph names go over to its GraphModule, scripted ones too."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from fxls import engine

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.jit.(script|trace):DeprecationWarning",
    "ignore:The TorchScript type system:UserWarning",
)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("shift", torch.ones(2))
        self.scale = nn.Parameter(torch.full((2,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.scale + self.shift


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Scaled()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scripted: Any = torch.jit.script(Outer())
        self.recorded: Any = torch.jit.trace(Scaled(), torch.ones(1, 2))


class CallsTheWhole(Holder):
    def forward(self, x: torch.Tensor) -> Any:
        return self.recorded(self.scripted(x))


class CallsAPart(Holder):
    def forward(self, x: torch.Tensor) -> Any:
        return self.scripted.inner.linear(x)


class ReadsItsTensors(Holder):
    def forward(self, x: torch.Tensor) -> Any:
        inner = self.scripted.inner
        return x * inner.scale + inner.shift + inner.linear(x)


@pytest.mark.parametrize("kind", [CallsTheWhole, CallsAPart, ReadsItsTensors])
def test_a_scripted_submodule_is_held_as_torch_fx_holds_it(kind: type[Holder]) -> None:
    model, x = kind(), torch.rand(3, 2)

    theirs = torch.fx.symbolic_trace(model)
    ours = engine.symbolic_trace(model)

    assert ours.code == theirs.code
    for module in (ours, copy.deepcopy(ours), engine.GraphModule(ours, ours.graph)):
        assert torch.equal(module(x), model(x))
