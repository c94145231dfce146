"""Who makes gradients wrong is named, also where what is returned is right."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from tests.runtime.numbers.looking import (
    COMPILING,
    Blamed,
    Numbers,
    Perceptron,
    blamed,
    config,
    nodes,
)

pytestmark = COMPILING


def without_gradient(
    x: torch.Tensor, inplace: bool = False
) -> torch.Tensor:  # as torch has it
    return functional.relu(x.detach()) + 0.5 * (x - x.detach())


def letting_go(graph: Any) -> None:
    for node in nodes(graph, functional.relu):
        node.target = without_gradient


def backend(gm: Any, _inputs: Any) -> Any:
    letting_go(gm.graph)
    gm.recompile()
    return gm.forward


def test_a_pass_before_gradients_is_to_blame_for_gradients_alone(
    numbers: Numbers,
) -> None:
    with config.patch(pre_grad_custom_pass=letting_go):
        found = numbers.of(Perceptron(), torch.randn(4, 8))

    (fault,) = found.faults
    assert blamed(fault) == Blamed(
        "pass", "pre-grad", "pre_grad_custom_pass", ("relu",), "functional.relu(out)"
    )
    assert fault.confirmed.startswith("the gradient of ")


def test_a_backend_is_to_blame_for_gradients_alone(numbers: Numbers) -> None:
    answer = numbers.first(Perceptron(), torch.randn(4, 8), backend=backend)

    assert answer == Blamed("backend", "", "backend", ("relu",), "functional.relu(out)")


def test_gradients_that_nobody_asks_for_are_nobodys_fault(numbers: Numbers) -> None:
    found = numbers.of(Perceptron(), torch.randn(4, 8), backend=backend, backward=False)

    assert found.faults == ()


def dropping(x: torch.Tensor) -> torch.Tensor:
    first = functional.dropout(x, 0.3)
    return first * functional.relu(x) + functional.dropout(x * 2, 0.3)


def test_who_draws_in_another_order_is_not_blamed_for_gradients(
    numbers: Numbers,
) -> None:
    def turning_around(graph: Any) -> None:
        drops = nodes(graph, functional.dropout)
        (times,) = drops[1].all_input_nodes
        drops[0].prepend(times)
        drops[0].prepend(drops[1])

    with config.patch(pre_grad_custom_pass=turning_around):
        found = numbers.of(dropping, torch.randn(4, 8, requires_grad=True))

    assert found.faults == ()


def test_gradients_of_a_backend_that_shows_no_graph_are_not_said_to_be_right(
    numbers: Numbers,
) -> None:
    def hiding(gm: Any, _inputs: Any) -> Any:
        def run(*inputs: Any) -> Any:
            return [0.5 * one + 0.5 * one.detach() for one in gm.forward(*inputs)]

        return run

    found = numbers.of(Perceptron(), torch.randn(4, 8), backend=hiding)

    assert found.faults == ()
    assert not found.is_clear
    assert [(one.what, one.why) for one in found.unseen] == [
        ("gradients", "nobody sees the graph that hiding runs")
    ]
