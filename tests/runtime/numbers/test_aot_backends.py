"""Backends of one's own that AOTAutograd gives a forward and a backward graph."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import (
    COMPILING,
    Attention,
    Blamed,
    Numbers,
    Perceptron,
    aten,
)

pytestmark = COMPILING

common: Any = importlib.import_module("torch._dynamo.backends.common")
compiling: Any = importlib.import_module("functorch.compile")


def right(gm: Any, _inputs: Any) -> Any:
    return compiling.make_boxed_func(gm.forward)


def with_other_gelu(gm: Any, _inputs: Any) -> Any:
    for node in gm.graph.nodes:
        if node.target in (aten.gelu.default, aten.gelu_backward.default):
            node.kwargs = {"approximate": "tanh"}
    gm.recompile()
    return right(gm, _inputs)


def runs_something_else(gm: Any, _inputs: Any) -> Any:
    def run(*args: Any) -> Any:
        first, *rest = gm(*args)
        return [first * 1.5, *rest]

    return compiling.make_boxed_func(run)


def saves_something_else(gm: Any, _inputs: Any) -> Any:
    def run(*args: Any) -> Any:
        first, *rest = gm(*args)
        return [first, *[one + 1 if one.is_floating_point() else one for one in rest]]

    return compiling.make_boxed_func(run)


@pytest.mark.parametrize(
    ("compilers", "answer"),
    [
        (
            {"fw_compiler": with_other_gelu, "bw_compiler": right},
            Blamed(
                *("backend", "forward", "with_other_gelu", ("gelu",)),
                "functional.gelu(self.first(x))",
            ),
        ),
        (
            {"fw_compiler": right, "bw_compiler": with_other_gelu},
            Blamed(
                *("backend", "backward", "with_other_gelu", ("gelu_backward",)),
                "functional.gelu(self.first(x))",
            ),
        ),
        (
            {"fw_compiler": runs_something_else, "bw_compiler": right},
            Blamed(
                *("backend", "forward", "runs_something_else", ("add",)),
                "x + functional.relu(out)",
            ),
        ),
        (
            {"fw_compiler": right, "bw_compiler": runs_something_else},
            Blamed(*("backend", "backward", "runs_something_else", ("mm_3",)), ""),
        ),
    ],
    ids=["forward", "backward", "forward, run", "backward, run"],
)
def test_the_compiler_at_fault_is_named(
    compilers: Any, answer: Blamed, numbers: Numbers
) -> None:
    backend = common.aot_autograd(**compilers)
    found = numbers.first(Perceptron(), torch.randn(4, 8), backend=backend)

    assert found[:3] == answer[:3]
    assert found.nodes == answer.nodes or not answer.code
    assert found.code == answer.code or not answer.code


def test_what_it_saves_for_the_backward_is_judged_as_well(numbers: Numbers) -> None:
    backend = common.aot_autograd(fw_compiler=saves_something_else, bw_compiler=right)
    found = numbers.first(Perceptron(), torch.randn(4, 8), backend=backend)

    assert found[:3] == ("backend", "forward", "saves_something_else")


def by_interpreter(gm: Any, _inputs: Any) -> Any:
    return compiling.make_boxed_func(torch.fx.Interpreter(gm).run)


@pytest.mark.parametrize("compiler", [right, by_interpreter])
@pytest.mark.parametrize("model", [Perceptron, lambda: Attention(dropout=0.5)])
def test_what_changes_nothing_is_right_forward_and_backward(
    compiler: Callable[..., Any], model: Any, numbers: Numbers
) -> None:
    backend = common.aot_autograd(fw_compiler=compiler)
    found = numbers.of(model(), torch.randn(2, 4, 8), backend=backend)

    assert found.faults == ()
    assert found.is_clear, found.unseen
