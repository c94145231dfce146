"""Where eager has NaN a compiled function has it too."""

from __future__ import annotations

from typing import Any

import torch

from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    aten,
    blamed,
    config,
    nodes,
)

pytestmark = COMPILING


def larger_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.maximum(x.sin(), y) * 2


def leaves_nan_out(graph: Any) -> None:
    """A pass by which the larger of a number and NaN is the number."""
    (larger,) = nodes(graph, aten.maximum.default)
    larger.target = torch.fmax


def with_nan() -> torch.Tensor:
    x = torch.randn(8, 8)
    x[2, 3] = torch.nan
    return x


def test_a_number_in_the_place_of_nan_is_wrong(numbers: Numbers) -> None:
    with config.patch(post_grad_custom_post_pass=leaves_nan_out):
        found = numbers.of(larger_of, with_nan(), torch.randn(8, 8))

    (fault,) = found.faults
    assert (blamed(fault).nodes, blamed(fault).code) == (
        ("maximum",),
        "torch.maximum(x.sin(), y)",
    )
    assert fault.evidence.reason == "1 of 1 NaN are numbers"


def test_nan_in_both_is_right(numbers: Numbers) -> None:
    found = numbers.of(larger_of, with_nan(), torch.randn(8, 8), backend="inductor")

    assert (found.faults, found.unseen) == ((), ())
