"""An operator that has another form than its fake kernel says is named, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    any_torch,
    blamed,
    without_kernels,
)

pytestmark = [
    *COMPILING,
    pytest.mark.filterwarnings("ignore:.*should not be instantiated"),  # by Dynamo
]


@pytest.fixture
def library() -> Iterator[Any]:
    made = any_torch.library.Library("fxls_numbers", "FRAGMENT")
    yield made
    made._destroy()


def defined(library: Any, name: str, fake: Any) -> Any:
    """An operator that transposes in memory, with the fake kernel that it is given."""
    library.define(f"{name}(Tensor x) -> Tensor")

    def real(x: torch.Tensor) -> torch.Tensor:
        return x.sin().t().contiguous().t()

    library.impl(name, real, "CPU")
    any_torch.library.register_fake(f"fxls_numbers::{name}", fake, lib=library)
    return getattr(any_torch.ops.fxls_numbers, name)


def honest(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[::-1]).t()


def lies_of_strides(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape)


def lies_of_dtype(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[::-1], dtype=torch.float64).t()


SAID = [
    (lies_of_strides, "it has the strides (1, 4), and its fake kernel says (8, 1)"),
    (lies_of_dtype, "it is float32, and its fake kernel says float64"),
]


class Calling(nn.Module):
    """An operator of the program, in the forward or in the backward alone."""

    def __init__(self, operator: Any, *, backward: bool) -> None:
        super().__init__()
        self.operator, self.backward = operator, backward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        called: Any = Backwards if self.backward else Forwards
        return called.apply(x * 2.0, self.operator) + 1.0


class Forwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, operator: Any) -> torch.Tensor:
        ctx.save_for_backward(x)
        return operator(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * ctx.saved_tensors[0].cos(), None


class Backwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, operator: Any) -> torch.Tensor:
        ctx.operator = operator
        return x.sin()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return ctx.operator(grads[0]), None


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("backend", "fake", "said"),
    # Code that takes 32 bits for 64 would read beyond its memory.
    [*((without_kernels, *one) for one in SAID), ("inductor", *SAID[0])],
    ids=["aot-strides", "aot-dtype", "code-strides"],
)
def test_a_fake_kernel_that_lies_is_the_one_fault(
    backend: Any,
    fake: Any,
    said: str,
    backward: bool,
    library: Any,
    numbers: Numbers,
) -> None:
    name = f"{fake.__name__}_{backward}_{backend == 'inductor'}"
    model = Calling(defined(library, name, fake), backward=backward)
    x, raised = torch.randn(4, 8, requires_grad=True), None
    try:
        numbers.run(model, x, backend=backend)
    except (AssertionError, RuntimeError) as error:
        raised = repr(error)
    (fault,) = numbers.found(raised).faults

    assert blamed(fault)[:3] == ("fake", "traced", f"fxls_numbers.{name}.default")
    assert fault.evidence.reason == said


def test_an_honest_fake_kernel_is_not_blamed(library: Any, numbers: Numbers) -> None:
    model = Calling(defined(library, "honest", honest), backward=False)

    found = numbers.of(model, torch.randn(4, 8, requires_grad=True))

    assert found.faults == ()
    assert found.is_clear, found.unseen


def test_an_operator_that_changes_its_input_and_says_that_it_does_not_is_the_fault(
    library: Any, numbers: Numbers
) -> None:
    library.define("sneaky(Tensor x) -> Tensor")

    def real(x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2.0
        x.add_(1.0)
        return doubled

    def model(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        return any_torch.ops.fxls_numbers.sneaky(y) + y

    library.impl("sneaky", real, "CPU")
    any_torch.library.register_fake(
        "fxls_numbers::sneaky", any_torch.empty_like, lib=library
    )
    (fault,) = numbers.of(model, torch.rand(4, 8)).faults

    assert blamed(fault)[:3] == ("fake", "traced", "fxls_numbers.sneaky.default")
    assert fault.evidence.reason == (
        "it changes what it is given, and its signature says that it does not"
    )


def test_an_operator_that_changes_more_than_it_says_is_the_fault(
    library: Any, numbers: Numbers
) -> None:
    library.define("bump(Tensor(a!) x, Tensor y) -> Tensor")

    def real(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1.0)
        y.mul_(2.0)
        return x + y

    def model(x: torch.Tensor) -> torch.Tensor:
        return any_torch.ops.fxls_numbers.bump(x.sin(), x.cos())

    library.impl("bump", real, "CPU")

    def fake(x: torch.Tensor, _y: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    any_torch.library.register_fake("fxls_numbers::bump", fake, lib=library)
    (fault,) = numbers.of(model, torch.rand(4, 8)).faults

    assert blamed(fault)[:3] == ("fake", "traced", "fxls_numbers.bump.default")
    assert fault.evidence.reason == (
        "it changes what it is given, and its signature says so of other arguments"
    )


MEMORY = "gives memory of what it is given, and its signature says that it does not"


# torch refuses such an operator where the variable CI is set, and warns elsewhere.
REFUSES = "error_on_custom_op_aliasing"


@pytest.fixture
def same(library: Any) -> Iterator[Any]:
    """An operator that says that it gives a new value, and gives the one that it has."""
    library.define("same(Tensor x) -> Tensor")

    def real(x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)

    def fake(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(x.numel())

    library.impl("same", real, "CPU")
    any_torch.library.register_fake("fxls_numbers::same", fake, lib=library)
    settings = any_torch._functorch.config
    here = {REFUSES: False} if hasattr(settings, REFUSES) else {}
    with settings.patch(here):
        yield any_torch.ops.fxls_numbers.same


ALIASING = pytest.mark.filterwarnings("ignore:.*may not alias any inputs")  # by torch


@ALIASING
def test_an_operator_in_the_memory_of_its_input_is_the_fault_where_that_is_overwritten(
    same: Any, numbers: Numbers
) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        y = same(x)
        x.add_(1.0)
        return y.reshape(2, 4) + x

    (fault,) = numbers.of(model, torch.rand(2, 4), backend="inductor").faults

    assert blamed(fault) == (
        *("fake", "traced", "fxls_numbers.same.default"),
        *(("same",), "same(x)"),
    )
    assert fault.evidence.reason == f"it {MEMORY}"


@ALIASING
def test_where_nobody_notices_it_nothing_is_at_fault(
    same: Any, numbers: Numbers
) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return same(x.sin()) * 2.0

    found = numbers.of(model, torch.rand(2, 4))

    assert (found.faults, found.is_clear) == ((), True)


@ALIASING
def test_where_it_may_be_noticed_and_all_is_right_the_steps_are_left_out(
    same: Any, numbers: Numbers
) -> None:
    def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = same(x)
        x.add_(1.0)
        return y * 2.0, y

    found = numbers.of(model, torch.rand(2, 4), backend="inductor", backward=False)

    (unseen,) = found.unseen
    assert (found.faults, found.is_clear) == ((), False)
    assert (unseen.what, unseen.why) == (
        "each step of the compiler",
        f"fxls_numbers.same.default {MEMORY}",
    )
