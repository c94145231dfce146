"""A graph that an operator of another one calls is judged on what the operator is given."""

from __future__ import annotations

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
)

pytestmark = COMPILING


def branching(x: torch.Tensor) -> torch.Tensor:
    def if_so(y: torch.Tensor) -> torch.Tensor:
        return y.sin() * 2.0

    def if_not(y: torch.Tensor) -> torch.Tensor:
        return y.cos()

    return any_torch.cond(x.sum() > 0, if_so, if_not, (x.exp(),)) + 1.0


def exchanged(target: Any) -> Any:
    def wrong(graph: Any) -> None:
        for node in nodes(graph, target):
            node.target = aten.tan.default

    return wrong


@pytest.mark.parametrize(
    ("target", "x", "node", "code"),
    [
        (aten.sin.default, 0.5, "sin", "y.sin()"),
        (aten.cos.default, -0.5, "cos", "y.cos()"),
    ],
)
def test_a_pass_is_to_blame_in_the_branch_that_the_program_came_to(
    target: Any, x: float, node: str, code: str, numbers: Numbers
) -> None:
    with config.patch(post_grad_custom_post_pass=exchanged(target)):
        (fault,) = numbers.of(branching, torch.full((4, 4), x)).faults

    answer = blamed(fault)
    assert (answer.kind, answer.name) == ("pass", "post_grad_custom_post_pass")
    assert (answer.nodes, answer.code) == ((node,), code)


def test_a_branch_that_the_program_did_not_come_to_is_left_out(
    numbers: Numbers,
) -> None:
    with config.patch(post_grad_custom_post_pass=exchanged(aten.cos.default)):
        found = numbers.of(branching, torch.full((4, 4), 0.5))

    assert found.faults == ()
    assert found.is_clear
    assert [one.why for one in found.unseen] == [
        "the program did not come to this branch"
    ]
