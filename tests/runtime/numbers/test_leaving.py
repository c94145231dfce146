"""What a backend does besides returning: to its inputs, and to gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import COMPILING, Blamed, Numbers, blamed

pytestmark = COMPILING


def counting(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    seen.add_(1.0)
    return x.sin() + seen.sum()


def on_copies(gm: Any, _inputs: Any) -> Callable[..., Any]:
    return lambda *given: gm(*(one.clone() for one in given))


def overwriting(gm: Any, _inputs: Any) -> Callable[..., Any]:
    def run(seen: torch.Tensor, x: torch.Tensor) -> Any:
        made = gm(seen, x)
        x.zero_()
        return made

    return run


def honest(gm: Any, _inputs: Any) -> Callable[..., Any]:
    return lambda *given: gm(*given)


@pytest.mark.parametrize(
    ("backend", "node", "code"),
    [
        (on_copies, "l_seen_", "seen.add_(1.0)"),
        (overwriting, "l_x_", "x.sin()"),
    ],
)
def test_what_a_backend_leaves_in_an_input_is_compared(
    backend: Any, node: str, code: str, numbers: Numbers
) -> None:
    found = numbers.of(counting, torch.randn(4), torch.zeros(2), backend=backend)
    (fault,) = found.faults

    assert blamed(fault) == Blamed("backend", "", backend.__name__, (node,), code)
    assert fault.confirmed == (
        f"what it left in its input {node} is compared with the captured graph"
    )


def test_inputs_that_share_memory_are_not_judged(numbers: Numbers) -> None:
    both = torch.zeros(4)

    found = numbers.of(counting, both[:2], both[1:3], backend=honest)

    assert found.faults == ()
    assert not found.is_clear
    assert [(one.what, one.why) for one in found.unseen] == [
        (
            "what the function returned",
            "two of its inputs share memory, and it changes one of them",
        )
    ]


def detaching(gm: Any, _inputs: Any) -> Callable[..., Any]:
    return lambda *given: tuple(
        one.detach().requires_grad_(one.requires_grad) for one in gm(*given)
    )


def squared(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * x


def test_a_backend_through_which_no_gradient_leads_is_to_blame(
    numbers: Numbers,
) -> None:
    found = numbers.of(squared, torch.randn(4, requires_grad=True), backend=detaching)
    (fault,) = found.faults

    assert blamed(fault)[:4] == ("backend", "", "detaching", ("mul",))
    assert fault.gradient_of == "mul"
    assert fault.evidence.reason == (
        "no gradient leads back from it, as one does from the captured graph"
    )


def test_gradients_that_nobody_asks_for_may_end(numbers: Numbers) -> None:
    x = torch.randn(4, requires_grad=True)

    found = numbers.of(squared, x, backend=detaching, backward=False)

    assert found.faults == ()
