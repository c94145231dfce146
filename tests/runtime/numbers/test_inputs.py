"""A graph that an operator of another one calls is judged on what the operator is given."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.runtime.numbers.looking import (
    COMPILING,
    Blamed,
    Numbers,
    any_torch,
    aten,
    blamed,
    config,
    nodes,
)
from tests.support.programs import needs_inductor

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


def test_of_a_branch_that_the_program_did_not_come_to_no_gradient_can_be_wrong(
    numbers: Numbers,
) -> None:
    found = numbers.of(branching, torch.full((4, 4), 0.5, requires_grad=True))

    assert found.faults == ()
    assert found.is_clear, found.unseen


def exchanging_cosines(gm: Any, _inputs: Any) -> Any:
    """A backend that changes the graphs which its graph calls, where they are."""
    for part in gm.modules():
        for node in part.graph.nodes if part is not gm else ():
            if node.target == "cos":
                node.target = "sin"
        part.recompile()
    return gm


def test_a_backend_is_to_blame_for_what_it_changes_in_a_branch(
    numbers: Numbers,
) -> None:
    came_to = torch.full((4, 4), -0.5)
    answer = numbers.first(branching, came_to, backend=exchanging_cosines)

    assert answer == Blamed("backend", "", "exchanging_cosines", ("cos",), "y.cos()")


def test_a_branch_that_a_backend_changed_and_nobody_came_to_is_right(
    numbers: Numbers,
) -> None:
    came_to = torch.full((4, 4), 0.5)
    found = numbers.of(branching, came_to, backend=exchanging_cosines)

    assert (found.faults, found.is_clear) == ((), True)


class Convolutions(nn.Module):
    """Of which inductor's code saves values for the backward with channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.first(x)))
        y = nn.functional.max_pool2d(y, 2)
        return (torch.relu(self.second(y)) + y).mean((2, 3))


@pytest.mark.slow
@needs_inductor
def test_a_graph_gets_its_inputs_in_the_layout_of_its_trace(numbers: Numbers) -> None:
    numbers.run(Convolutions(), torch.randn(4, 3, 8, 8), backend="inductor")
    (kept,) = numbers.compilations
    saved = {
        name: value
        for call in kept.calls
        for name, value in call.values.items()
        if isinstance(value, torch.Tensor) and value.dim() == 4
    }
    assert any(
        value.is_contiguous(memory_format=torch.channels_last)
        and not value.is_contiguous()
        for value in saved.values()
    )

    found = numbers.found()

    assert found.faults == ()
    assert found.is_clear
