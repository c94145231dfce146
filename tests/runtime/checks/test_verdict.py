"""What can be told of numbers in one pass is what torch says of each of them."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
import torch

from fxls.runtime.checks.verdict import has_no_nan, is_finite

any_torch: Any = cast("Any", torch)

SIZES = [0, 1, 16, 2048, 2049, 5000]
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64]


def numbers(size: int, dtype: torch.dtype, bad: float | None, at: float) -> Any:
    made = torch.linspace(-1.0, 1.0, max(size, 2))[:size].to(dtype)
    if bad is not None and size:
        made[int(at * (size - 1))] = bad
    return made


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_a_nan_is_seen_at_every_place_and_nothing_else(
    size: int, dtype: torch.dtype
) -> None:
    for bad in (None, math.nan, math.inf, -math.inf):
        for at in (0.0, 0.4, 1.0):
            made = numbers(size, dtype, bad, at)
            for view in (made, made[::2], made.expand(2, size).t(), made.clone()):
                fine, bare = bool(view.isfinite().all()), not view.isnan().any()
                assert is_finite(view) == fine
                # What is infinite may need a second look, and NaN has to have it.
                assert has_no_nan(view) in ({True} if fine else {bool(bare), False})


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_look_leaves_no_trace_in_the_history(requires_grad: bool) -> None:
    made = torch.ones(4, requires_grad=requires_grad) * 2.0
    before = made.grad_fn

    assert has_no_nan(made)
    assert is_finite(made)

    assert made.grad_fn is before
    assert made._version == 0


def test_what_only_a_look_can_tell_is_not_called_fine() -> None:
    bad = torch.tensor([1.0, math.nan])
    kinds = [
        bad.to(any_torch.float8_e5m2),
        bad.to_sparse(),
        torch.ones(2, device="meta"),
        any_torch.nested.nested_tensor([bad, torch.ones(3)]),
        (bad,),
        math.nan,
    ]

    assert not any(has_no_nan(one) or is_finite(one) for one in kinds)


def test_what_holds_no_such_numbers_is_fine() -> None:
    kinds = [torch.arange(3), torch.tensor([True]), 3, "text", None, torch.nn.ReLU()]
    kinds += [torch.ones(2, 3).size(), (torch.ones(2), (torch.zeros(1), 4))]

    assert all(has_no_nan(one) and is_finite(one) for one in kinds)
