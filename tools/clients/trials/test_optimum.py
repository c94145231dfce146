"""The transformations of Optimum change graph modules, and take their changes back."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

optimization: Any = importlib.import_module("optimum.fx.optimization")


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(4, 4)
        self.key = nn.Linear(4, 4)
        self.value = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        scores = self.query(x) @ self.key(x).transpose(-1, -2)
        return torch.softmax(scores / 2.0, -1) @ self.value(x)


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.linear = nn.Linear(4, 3)
        self.last = nn.BatchNorm1d(3)

    def forward(self, x: Any) -> Any:
        return self.last(self.linear(self.norm(self.conv(x)).mean((2, 3))))


@pytest.mark.parametrize("name", ["ChangeTrueDivToMulByInverse", "FuseBiasInLinear"])
def test_a_transformation_keeps_the_result_and_is_reversed(name: str) -> None:
    model = Attention().eval()
    x = torch.randn(2, 3, 4)
    expected = model(x)
    transformation: Any = getattr(optimization, name)()

    traced: Any = torch.fx.symbolic_trace(model)
    transformed: Any = transformation(traced)
    torch.testing.assert_close(transformed(x), expected)

    back: Any = transformation(transformed, reverse=True)
    torch.testing.assert_close(back(x), expected)


def test_transformations_are_composed() -> None:
    model = Normed().eval()
    x = torch.randn(2, 3, 8, 8)
    fused: Any = optimization.compose(
        optimization.FuseBatchNorm2dInConv2d(), optimization.FuseBatchNorm1dInLinear()
    )(torch.fx.symbolic_trace(model))

    torch.testing.assert_close(fused(x), model(x))
    kinds = [type(one).__name__ for one in fused.children()]
    assert "BatchNorm2d" not in kinds
    assert "BatchNorm1d" not in kinds
