"""A value that is random before a pass, and is not behind it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.runtime.numbers.random_nodes import RANDOM
from tests.runtime.numbers.looking import (
    COMPILING,
    Attention,
    Numbers,
    aten,
    blamed,
    config,
    nodes,
)

pytestmark = COMPILING

DROPOUT = "self.dropout(scores.softmax(-1))"


def found_in(numbers: Numbers, hook: str, plant: Callable[[Any], None]) -> Any:
    with config.patch({hook: plant}):
        return numbers.of(Attention(dropout=0.5), torch.randn(2, 4, 8))


def takes_out(graph: Any) -> None:
    for node in nodes(graph, functional.dropout):
        node.replace_all_uses_with(node.args[0])
        graph.erase_node(node)


def switches_off(graph: Any) -> None:
    for node in nodes(graph, functional.dropout):
        node.args, node.kwargs = (node.args[0], 0.5, False), {}


@pytest.mark.parametrize("plant", [takes_out, switches_off])
def test_a_pass_that_leaves_dropout_out_is_named(plant: Any, numbers: Numbers) -> None:
    (fault,) = found_in(numbers, "pre_grad_custom_pass", plant).faults

    assert blamed(fault)[:3] == ("pass", "pre-grad", "pre_grad_custom_pass")
    assert blamed(fault).nodes == ("dropout",)
    assert blamed(fault).code == DROPOUT
    assert fault.evidence.reason == "it is random before, and here it is not"
    assert fault.confirmed.startswith("of 8 times with other random numbers")


def test_a_mask_that_is_always_the_same_is_named(numbers: Numbers) -> None:
    def fixes(graph: Any) -> None:
        for node in [*graph.nodes]:
            if str(node.target).startswith("prims.inductor_random"):
                with graph.inserting_after(node):
                    shape = [*node.meta["val"].shape]
                    made = graph.call_function(aten.full.default, (shape, 0.9))
                    made.meta = dict(node.meta)
                node.replace_all_uses_with(made)
                graph.erase_node(node)

    (fault,) = found_in(numbers, "post_grad_custom_post_pass", fixes).faults

    assert blamed(fault)[:3] == (
        *("pass", "forward, post-grad", "post_grad_custom_post_pass"),
    )
    assert [where.target for where in fault.where] == ["torch.ops.aten.full.default"]


def test_dropout_that_no_pass_touches_is_no_fault(numbers: Numbers) -> None:
    found = found_in(numbers, "post_grad_custom_post_pass", lambda _graph: None)

    assert found.faults == ()
    assert found.is_clear


def test_a_value_that_nobody_reads_may_be_drawn_no_more(numbers: Numbers) -> None:
    def draws_for_nothing(x: torch.Tensor) -> torch.Tensor:
        functional.dropout(x, 0.5)
        return x.sin()

    with config.patch(pre_grad_custom_pass=takes_out):
        found = numbers.of(draws_for_nothing, torch.randn(4, 8))

    assert found.faults == ()


def noisy(x: torch.Tensor) -> torch.Tensor:
    return x + torch.rand_like(x) - torch.rand_like(x)


def test_two_draws_that_became_one_are_named(numbers: Numbers) -> None:
    def merges(graph: Any) -> None:
        first, second = nodes(graph, torch.rand_like)
        second.replace_all_uses_with(first)
        graph.erase_node(second)

    with config.patch(pre_grad_custom_pass=merges):
        answer = numbers.first(noisy, torch.randn(8, 8), backward=False)

    assert answer[:3] == ("pass", "pre-grad", "pre_grad_custom_pass")
    assert answer.nodes == ("rand_like_1",)


def test_what_a_pass_makes_of_random_numbers_is_not_said_to_be_right(
    numbers: Numbers,
) -> None:
    """No value tells whether a difference became a sum: both are random."""

    def adds(graph: Any) -> None:
        (sub,) = nodes(graph, operator.sub)
        sub.target = operator.add

    with config.patch(pre_grad_custom_pass=adds):
        found = numbers.of(noisy, torch.randn(8, 8), backward=False)

    assert bool(found.faults) or not found.is_clear


class Fused(nn.Module):
    """Attention in one operator, which may drop scores."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.qkv, self.dropout = nn.Linear(16, 48), dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (one.unflatten(-1, (2, 8)) for one in self.qkv(x).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, None, self.dropout)
        return x + mixed.flatten(-2)


def test_attention_without_dropout_draws_nothing(numbers: Numbers) -> None:
    numbers.run(Fused(0.0), torch.randn(2, 4, 16), backend="inductor")

    found = numbers.found()

    assert (found.faults, found.unseen) == ((), ())


def test_attention_with_dropout_is_not_judged(numbers: Numbers) -> None:
    found = numbers.of(Fused(0.5), torch.randn(2, 4, 16), backend="inductor")

    assert found.faults == ()
    assert RANDOM in {one.why for one in found.unseen}
