"""What a partition saves for the backward is what the backward counts on."""

from __future__ import annotations

import pytest
import torch

from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    blamed,
    exchange_what_is_saved,
)

pytestmark = COMPILING


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.sin() * y.exp()


def test_a_value_that_is_saved_in_the_place_of_another_one_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, numbers: Numbers
) -> None:
    exchange_what_is_saved(monkeypatch)
    both = [torch.rand(4, 4, requires_grad=True) for _ in range(2)]

    found = numbers.of(product, *both)

    fault = found.faults[0]
    assert blamed(fault)[:3] == ("partition", "backward", "partition")
    assert fault.confirmed.startswith("the backward is given ")
    assert fault.confirmed.endswith("of what the backward returns is otherwise")
