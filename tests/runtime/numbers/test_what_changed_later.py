"""What a program changed behind a call is as it was when the call is looked at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from tests.runtime.numbers.looking import COMPILING, Numbers, any_torch

pytestmark = COMPILING


@pytest.fixture(autouse=True)
def torch_as_it_was() -> Iterator[None]:
    dtype = any_torch.get_default_dtype()
    yield
    any_torch.set_default_dtype(dtype)
    any_torch.set_default_device(None)
    any_torch.use_deterministic_algorithms(False)


def thirds(x: torch.Tensor) -> torch.Tensor:
    return x + torch.ones(5).cumsum(0) / 3


def test_the_default_dtype_is_that_of_the_call(numbers: Numbers) -> None:
    any_torch.set_default_dtype(torch.float64)
    out = numbers.run(thirds, torch.randn(5, dtype=torch.float32), backend="inductor")
    any_torch.set_default_dtype(torch.float32)

    found = numbers.found()

    assert out.dtype == torch.float64
    assert (found.faults, found.unseen) == ((), ())
    assert any_torch.get_default_dtype() == torch.float32


def test_the_default_device_is_that_of_the_call(numbers: Numbers) -> None:
    numbers.run(thirds, torch.randn(5), backend="inductor")
    any_torch.set_default_device("meta")
    any_torch.use_deterministic_algorithms(True)

    found = numbers.found()

    assert (found.faults, found.unseen) == ((), ())
    assert torch.empty(1).device.type == "meta"
    assert any_torch.are_deterministic_algorithms_enabled()


def test_a_module_that_is_moved_to_another_dtype_is_compared_in_that(
    numbers: Numbers,
) -> None:
    module = nn.Linear(3, 3)
    module.requires_grad_(False)
    compiled = any_torch.compile(module, backend="inductor")
    compiled(torch.randn(2, 3))
    module.double()  # its parameters are the same objects
    compiled(torch.randn(2, 3).double())

    found = numbers.found()

    assert (found.faults, found.unseen, found.graphs) == ((), (), 2)
    assert found.is_clear
