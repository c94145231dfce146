"""A graph that changes values in place is judged as well, and nothing kept is changed."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.verdicts.comparison import Comparison
from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    aten,
    blamed,
    config,
    nodes,
    reads_what_is_overwritten,
)

pytestmark = COMPILING


class Writing(nn.Module):
    """It writes into its own values."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        z = y.clone()
        z[:, 1:3] = 0.5
        z.index_add_(0, torch.tensor([0, 2, 2]), torch.ones(3, 6))
        z.mul_(2.0)
        return torch.tanh(z) + y


class Normalized(nn.Module):
    """In training it overwrites its statistics, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.norm(x), inplace=True).sin()


class Remembering(nn.Module):
    """It reads a buffer, and then overwrites it."""

    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.state * 2.0
        with torch.no_grad():
            self.state.copy_(x.mean(0))
        return x + before.sin()


class Replaced(nn.Module):
    """It reads a value of which another one is made, which differs in some places."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        z = torch.index_put(y, (torch.tensor([0, 2]),), torch.zeros(2, 6))
        return z.exp() + y


def method(graph: Any, name: str) -> Any:
    return next(node for node in graph.nodes if node.target == name)


def scales_otherwise(graph: Any) -> None:
    node = method(graph, "mul_")
    node.args = (node.args[0], 2.5)


def drops_a_write(graph: Any) -> None:
    graph.erase_node(nodes(graph, operator.setitem)[0])


def writes_in_another_order(graph: Any) -> None:
    method(graph, "index_add_").prepend(method(graph, "mul_"))


def cuts_gradients(graph: Any) -> None:
    (tanh,) = nodes(graph, torch.tanh)
    with graph.inserting_before(tanh):
        tanh.args = (graph.call_method("detach", tanh.args),)


def forgets_faster(graph: Any) -> None:
    (norm,) = nodes(graph, functional.batch_norm)
    norm.args = (*norm.args[:6], 0.9, *norm.args[7:])


@pytest.mark.parametrize(
    ("model", "wrong", "named", "code"),
    [
        (Writing, scales_otherwise, ("mul_",), "z.mul_(2.0)"),
        (Writing, drops_a_write, ("setitem",), "z[:, 1:3] = 0.5"),
        (
            *(Writing, writes_in_another_order, ("mul_", "index_add_")),
            "z.mul_(2.0) z.index_add_(0, torch.tensor([0, 2, 2]), torch.ones(3, 6))",
        ),
        (Writing, cuts_gradients, ("detach",), "torch.tanh(z) + y"),
        (Normalized, forgets_faster, ("batch_norm",), "self.norm(x)"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_pass_on_a_captured_graph_that_writes_is_to_blame(
    model: Callable[[], Any],
    wrong: Any,
    named: tuple[str, ...],
    code: str,
    numbers: Numbers,
) -> None:
    with config.patch(pre_grad_custom_pass=wrong):
        (fault,) = numbers.of(model(), torch.randn(5, 6)).faults

    answer = blamed(fault)
    assert answer[:3] == ("pass", "pre-grad", "pre_grad_custom_pass")
    assert answer.nodes == named
    assert answer.code == code


def test_a_pass_that_overwrites_what_is_read_later_is_to_blame(
    numbers: Numbers,
) -> None:
    def wrong(graph: Any) -> None:
        nodes(graph, aten.index_put.default)[0].target = aten.index_put_.default

    with config.patch(post_grad_custom_post_pass=wrong):
        (fault,) = numbers.of(Replaced(), torch.randn(5, 6)).faults

    assert blamed(fault)[:4] == (
        *("pass", "forward, post-grad", "post_grad_custom_post_pass"),
        ("index_put",),
    )


def test_a_pass_that_reads_an_input_when_it_is_overwritten_is_to_blame(
    numbers: Numbers,
) -> None:
    with config.patch(post_grad_custom_post_pass=reads_what_is_overwritten):
        (fault,) = numbers.of(Remembering(), torch.randn(5, 6)).faults

    answer = blamed(fault)
    assert answer[:3] == ("pass", "forward, post-grad", "post_grad_custom_post_pass")
    assert answer.nodes == ("copy_", "mul")


def keeps_what_was(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """It returns its input as it was, and overwrites it."""
    before = x.t().clone()
    x.mul_(3.0)
    return before, x + 1.0


BY_INDUCTOR: dict[str, Any] = {"backend": "inductor", "backward": False}


def drops_a_copy(graph: Any) -> None:
    (clone,) = nodes(graph, aten.clone.default)
    clone.replace_all_uses_with(clone.args[0])
    graph.erase_node(clone)


@pytest.mark.parametrize("stage", ["joint", "forward, post-grad"])
def test_a_pass_by_which_what_is_returned_is_overwritten_is_to_blame(
    stage: str, numbers: Numbers
) -> None:
    hook = f"{stage.rpartition(' ')[2].replace('-', '_')}_custom_post_pass"
    with config.patch({hook: drops_a_copy}):
        # Compiled by inductor: its code returns what the graph says, and is right.
        (fault,) = numbers.of(keeps_what_was, torch.rand(2, 4), **BY_INDUCTOR).faults

    assert blamed(fault) == ("pass", stage, hook, ("clone",), "x.t().clone()")


def test_what_a_graph_returns_before_it_overwrites_it_is_right(
    numbers: Numbers,
) -> None:
    found = numbers.of(keeps_what_was, torch.rand(2, 4), **BY_INDUCTOR)

    assert (found.faults, said(found), found.is_clear) == ((), [], True)


def keeps_everything(graph: Any) -> None:
    """A pass that makes another graph of the same meaning."""
    for node in [*graph.nodes]:
        if node.target in ("mul_", "sin") or node.target is torch.tanh:
            users = [*node.users]
            with graph.inserting_after(node):
                negative = graph.call_method("neg", (node,))
            with graph.inserting_after(negative):
                again = graph.call_method("neg", (negative,))
            for user in users:
                user.replace_input_with(node, again)


@pytest.mark.parametrize("model", [Writing, Normalized, Remembering])
def test_a_pass_that_changes_no_number_is_judged_and_right(
    model: Callable[[], Any], numbers: Numbers
) -> None:
    with config.patch(pre_grad_custom_pass=keeps_everything):
        found = numbers.of(model(), torch.randn(5, 6))

    assert found.faults == ()
    assert found.is_clear, found.unseen
    assert said(found) == []


def said(found: Comparison) -> list[str]:
    """Which steps were not compared."""
    return [one.what for one in found.unseen]
