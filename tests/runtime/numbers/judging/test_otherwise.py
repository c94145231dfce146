"""Long sums of equal numbers that are added one after the other, which rounds more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import Function

from tests.runtime.numbers.looking import COMPILING, Numbers

pytestmark = COMPILING

LONG = 4096


def in_turn(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros((), dtype=x.dtype)
    for one in x.unbind():
        total = total + one
    return total


class Spread(Function):
    """As many equal numbers, whose gradients are added one after the other."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> Any:
        return x.expand(LONG)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return in_turn(gradients[0])


any_spread: Any = Spread


def spread(x: torch.Tensor) -> Any:
    return any_spread.apply(x)


def overwrites(x: torch.Tensor) -> torch.Tensor:
    x.add_(0.1)
    return x.sum()


def spreads(x: torch.Tensor) -> torch.Tensor:
    return x.expand(LONG).sum()


def exchanging(name: str, to: Callable[..., Any]) -> Callable[[Any], None]:
    """A pass that calls this in the place of a method."""

    def exchange(graph: Any) -> None:
        for node in graph.nodes:
            if node.target == name:
                node.op, node.target, node.args = "call_function", to, node.args[:1]

    return exchange


@pytest.mark.parametrize(
    ("model", "x", "wrong"),
    [
        (overwrites, torch.zeros(LONG), exchanging("sum", in_turn)),
        (
            spreads,
            torch.tensor(0.1),
            exchanging("expand", spread),
        ),
    ],
)
def test_it_is_right(
    model: Callable[..., Any],
    x: torch.Tensor,
    wrong: Callable[[Any], None],
    numbers: Numbers,
) -> None:
    given = x.clone().requires_grad_() if model is spreads else x.clone()

    def backend(gm: Any, _inputs: Any) -> Any:
        wrong(gm.graph)
        gm.recompile()
        return gm

    found = numbers.of(model, given, backend=backend)

    assert (found.faults, found.unseen) == ((), ())
