"""A fault that the first call of a function does not show is found in a later one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import (
    COMPILING,
    Numbers,
    any_torch,
    aten,
    blamed,
    config,
    nodes,
    without_kernels,
)

pytestmark = COMPILING


def sine(x: torch.Tensor) -> torch.Tensor:
    return x.abs().sin() + 1.0


def called(inputs: Sequence[torch.Tensor], backend: Any, **how: Any) -> None:
    compiled = any_torch.compile(sine, backend=backend, **how)
    for one in inputs:
        compiled(one)


class Tiring:
    """A backend whose code returns something else from some call on."""

    def __init__(self, most: int) -> None:
        self.most, self.calls = most, 0

    def __call__(self, gm: Any, _inputs: Any) -> Any:
        def run(*args: Any) -> list[Any]:
            self.calls += 1
            by = 1.0 if self.calls <= self.most else 1.5
            return [out * by for out in gm(*args)]

        return run


def test_a_backend_that_is_right_once_is_to_blame(numbers: Numbers) -> None:
    called([torch.randn(4, 4) for _ in range(3)], Tiring(1))

    (fault,) = numbers.found().faults

    assert fault.kind == "backend"
    assert fault.confirmed == (
        "what it returned is compared with the captured graph; in call 2 of its graph,"
        " and not in the first"
    )


def test_a_pass_is_to_blame_for_numbers_that_the_first_call_had_not(
    numbers: Numbers,
) -> None:
    def drops_the_sign(graph: Any) -> None:
        (absolute,) = nodes(graph, aten.abs.default)
        absolute.replace_all_uses_with(absolute.args[0])
        graph.erase_node(absolute)

    with config.patch(post_grad_custom_post_pass=drops_the_sign):
        called([torch.rand(4, 4), -torch.rand(4, 4)], without_kernels)
        (fault,) = numbers.found().faults

    assert blamed(fault)[2:] == ("post_grad_custom_post_pass", ("abs_1",), "x.abs()")
    assert fault.confirmed.endswith("in call 2 of its graph, and not in the first")


def test_a_size_that_was_not_there_before_is_compared(numbers: Numbers) -> None:
    def wrong_when_long(gm: Any, _inputs: Any) -> Any:
        def run(*args: Any) -> list[Any]:
            return [
                out + 1.0
                if isinstance(out, torch.Tensor) and out.shape[0] > 50
                else out
                for out in gm(*args)
            ]

        return run

    sizes = (6, 5, 70, 5, 5, 5)  # one of 4 would be taken for that of the rows
    called([torch.rand(n, 4) for n in sizes], wrong_when_long, dynamic=True)
    (fault,) = numbers.found().faults

    assert fault.confirmed.endswith("in call 3 of its graph, and not in the first")


@pytest.mark.parametrize(
    ("sizes", "call"), [((6, 5, 7, 8, 9, 16, 17), 6), ((60, 50, 55, 52, 53, 20), 6)]
)
def test_the_largest_and_the_smallest_call_are_compared(
    sizes: Sequence[int], call: int, numbers: Numbers
) -> None:
    def wrong_at_the_ends(gm: Any, _inputs: Any) -> Any:
        def run(*args: Any) -> list[Any]:
            return [
                out + 1.0
                if isinstance(out, torch.Tensor) and out.shape[0] in (16, 17, 20)
                else out
                for out in gm(*args)
            ]

        return run

    called([torch.rand(n, 4) for n in sizes], wrong_at_the_ends, dynamic=True)
    (fault,) = numbers.found().faults

    assert fault.confirmed.endswith(
        f"in call {call} of its graph, and not in the first"
    )


def test_later_calls_that_are_right_are_nobodys_fault(numbers: Numbers) -> None:
    called([torch.randn(n, 4) for n in (4, 5, 6, 5, 4, 7)], without_kernels)

    found = numbers.found()

    assert found.faults == ()
    assert found.is_clear, found.unseen
    assert found.unseen == ()


def test_the_copies_of_later_calls_are_given_back(numbers: Numbers) -> None:
    called([torch.randn(64, 64) for _ in range(2)], without_kernels)
    before = numbers.left

    called([torch.randn(64, 64) for _ in range(40)], without_kernels)

    one_call = 2 * 64 * 64 * 4  # what is given, and what is returned
    assert before - numbers.left <= 2 * one_call
