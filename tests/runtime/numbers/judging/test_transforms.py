"""Functions that torch.func transforms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.func import grad, hessian, jvp, vmap

from fxls.runtime.torch_private import leaving_transforms
from tests.runtime.numbers.looking import COMPILING, Numbers, nodes

pytestmark = [
    *COMPILING,
    pytest.mark.filterwarnings("ignore:.torch._prims_common.check:FutureWarning"),
]

private_torch: Any = torch


def loss(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.sin(w * x).sum()


def of_each(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return vmap(grad(loss), (None, 0))(w, x)


def product(one: torch.Tensor) -> torch.Tensor:
    return one.sin() * one.exp()


def forwards(w: torch.Tensor, x: torch.Tensor) -> Any:
    return jvp(product, (w,), (x,))


def cubes(one: torch.Tensor) -> torch.Tensor:
    return (one**3).sum()


def twice(w: torch.Tensor, _x: torch.Tensor) -> Any:
    return hessian(cubes)(w)


def test_transformed_functions_are_right(numbers: Numbers) -> None:
    w, x = torch.randn(4), torch.randn(6, 4)
    for function, given in ((of_each, x), (forwards, w), (twice, x)):
        numbers.run(function, w, given, backend="inductor", backward=False)
    found = numbers.found()

    assert (found.faults, found.unseen, found.graphs) == ((), (), 3)


def test_a_backend_is_to_blame_for_what_it_changes_inside(numbers: Numbers) -> None:
    def exchanges(gm: Any, _inputs: Any) -> Any:
        (sine,) = nodes(gm.graph, torch.sin)
        sine.target = torch.tanh
        gm.recompile()
        return gm

    answer = numbers.first(
        of_each, torch.randn(4), torch.randn(6, 4), backend=exchanges
    )

    assert answer == ("backend", "", "exchanges", ("sin",), "torch.sin(w * x)")


def test_what_nobody_left_is_left() -> None:
    functorch, forward = private_torch._C._functorch, torch.autograd.forward_ad

    with leaving_transforms():
        functorch._vmap_increment_nesting(6, "error")
        functorch._grad_increment_nesting()
        functorch._jvp_increment_nesting()
        functorch._func_increment_nesting(True)
        forward.enter_dual_level()

    assert functorch.maybe_current_level() is None
    with forward.dual_level():  # it refuses a second level
        pass
