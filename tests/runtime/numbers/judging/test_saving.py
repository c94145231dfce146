"""What a partition saves for the backward is what the backward counts on."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import COMPILING, Numbers, blamed

pytestmark = COMPILING

compile_fx: Any = importlib.import_module("torch._inductor.compile_fx")


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.sin() * y.exp()


def test_a_value_that_is_saved_in_the_place_of_another_one_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, numbers: Numbers
) -> None:
    right = compile_fx.min_cut_rematerialization_partition

    def exchanging(*args: Any, **options: Any) -> Any:
        forward, backward = right(*args, **options)
        output = next(node for node in forward.graph.nodes if node.op == "output")
        returned, first, second, *rest = output.args[0]
        output.args = ((returned, second, first, *rest),)
        forward.recompile()
        return forward, backward

    monkeypatch.setattr(compile_fx, "min_cut_rematerialization_partition", exchanging)
    both = [torch.rand(4, 4, requires_grad=True) for _ in range(2)]

    found = numbers.of(product, *both)

    fault = found.faults[0]
    assert blamed(fault)[:3] == ("partition", "backward", "partition")
    assert fault.confirmed.startswith("the backward is given ")
    assert fault.confirmed.endswith("of what the backward returns is otherwise")
