"""Small numbers of a value that holds far larger ones as well."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.runtime.numbers.looking import COMPILING, Numbers, aten, config, nodes

pytestmark = COMPILING


def attends(q: torch.Tensor, k: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    scores = (q @ k.T).masked_fill(masked, -1e9)
    return scores.softmax(-1) @ k


def scales_scores(graph: Any) -> None:
    """A pass that makes the scores of an attention larger, which leaves its mask."""
    (where,) = nodes(graph, aten.where.self)
    masked, fill, scores = where.args
    with graph.inserting_before(where):
        larger = graph.call_function(aten.mul.Tensor, (scores, 1.3))
    larger.meta["val"] = scores.meta["val"]
    where.args = (masked, fill, larger)


def stacks(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.stack([x * 1e6, functional.relu(y - 0.5)])


def far_apart(x: torch.Tensor) -> Any:
    """Numbers of many sizes, and functions that are computed by way of larger ones."""
    wide = torch.cat([x * 1e6, x, x * 1e-6])
    masked = torch.where(x > 0, x, -1e9)
    shifted = (x + 1e6) - 1e6
    tails = functional.gelu(x * 3), 1 - torch.tanh(x * 4), torch.exp(-20 * x * x)
    return wide, masked.softmax(-1), shifted, wide.sum(0), *tails


def test_a_score_is_wrong_though_the_mask_beside_it_is_a_billion(
    numbers: Numbers,
) -> None:
    q, k = torch.randn(16, 8), torch.randn(16, 8)
    with config.patch(post_grad_custom_post_pass=scales_scores):
        answer = numbers.first(attends, q, k, torch.rand(16, 16) > 0.6)

    assert answer == (
        "pass",
        "forward, post-grad",
        "post_grad_custom_post_pass",
        ("mul_tensor",),
        "(q @ k.T).masked_fill(masked, -1e9)",
    )


def test_a_kernel_is_wrong_in_the_small_half_of_what_it_writes(
    numbers: Numbers,
) -> None:
    with config.patch({"cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}):
        answer = numbers.first(
            stacks, torch.randn(8, 8), torch.randn(8, 8), backend="inductor"
        )

    assert (answer.kind, answer.nodes, answer.code) == (
        "kernel",
        ("relu",),
        "functional.relu(y - 0.5)",
    )


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_numbers_of_many_sizes_are_right(scale: float, numbers: Numbers) -> None:
    x = (torch.randn(128, 32) * scale).requires_grad_()

    found = numbers.of(far_apart, x, backend="inductor", backward=False)

    assert (found.faults, found.unseen) == ((), ())
