"""Whole numbers, truth values and sizes: one that differs is wrong, unless a rounding may
decide it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    any_torch,
    aten,
    blamed,
    config,
    nodes,
    without_kernels,
)

pytestmark = COMPILING


def causal(q: torch.Tensor) -> torch.Tensor:
    at = torch.arange(32)
    seen = at[None, :] <= at[:, None]
    return (q @ q.T).masked_fill(~seen, -30.0).softmax(-1)


def takes_rows(x: torch.Tensor) -> torch.Tensor:
    at = torch.remainder(torch.arange(32), 32)
    return x[at] * 2


def is_above(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) > 0.2


def times_its_size(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * (x.size(0) * 2)


def altering(target: Any, to: Any = None, last: Any = None) -> Callable[[Any], None]:
    """A pass that gives the first call of a target another one, or another argument."""

    def alter(graph: Any) -> None:
        node = nodes(graph, target)[0]
        node.target = to or target
        if last is not None:
            node.args = (node.args[0], last)

    return alter


@pytest.mark.parametrize(
    ("model", "wrong", "node", "code", "why"),
    [
        (
            causal,
            altering(aten.le.Tensor, aten.lt.Tensor),
            "le",
            "at[None, :] <= at[:, None]",
            "32 of 1024 elements differ, and rounding decides none of them",
        ),
        (
            takes_rows,
            altering(aten.remainder.Scalar, last=31),
            "remainder",
            "torch.remainder(torch.arange(32), 32)",
            "1 of 32 elements differ, and rounding decides none of them",
        ),
    ],
)
def test_one_that_differs_is_wrong_where_nothing_is_rounded(
    model: Callable[..., Any],
    wrong: Callable[[Any], None],
    node: str,
    code: str,
    why: str,
    numbers: Numbers,
) -> None:
    with config.patch(post_grad_custom_post_pass=wrong):
        found = numbers.of(model, torch.randn(32, 8), backward=False)

    (fault,) = found.faults
    assert (blamed(fault).nodes, blamed(fault).code) == ((node,), code)
    assert fault.evidence.reason == why


def test_a_few_are_wrong_where_more_differ_than_roundings_decide(
    numbers: Numbers,
) -> None:
    with config.patch(post_grad_custom_post_pass=altering(aten.gt.Scalar, last=0.25)):
        answer = numbers.first(is_above, torch.randn(64, 64))

    assert (answer.nodes, answer.code) == (("gt",), "torch.tanh(x) > 0.2")


def test_a_size_that_is_another_one_is_wrong(numbers: Numbers) -> None:
    compiled = any_torch.compile(times_its_size, backend=without_kernels, dynamic=True)
    with config.patch(post_grad_custom_post_pass=altering(operator.mul, last=3)):
        compiled(torch.randn(6, 3))
    found = numbers.found()

    (fault,) = found.faults
    assert blamed(fault).code == "x.size(0) * 2"
    assert fault.evidence.reason == "it is 18, and should be 12"


def test_what_a_rounding_decides_is_right(numbers: Numbers) -> None:
    def rounds(x: torch.Tensor) -> Any:
        return (x / 0.1).floor().long(), x * 3 > x + x + x, (x * 10).round().int()

    found = numbers.of(
        rounds, torch.arange(64) * 0.1, backend="inductor", backward=False
    )

    assert found.faults == ()
