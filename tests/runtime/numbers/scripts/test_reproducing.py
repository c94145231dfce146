"""The scripts for a fault fail by themselves, with torch alone, and for the same reason."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.verdicts.comparison import Reproducer
from tests.runtime.numbers.looking import (
    COMPILING,
    Normed,
    Numbers,
    Perceptron,
    aten,
    config,
    nodes,
)
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said

pytestmark = COMPILING

decomposition: Any = importlib.import_module("torch._inductor.decomposition")


class Activated(nn.Module):
    """One kernel with several nodes, of which one may be wrong."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positive = x.abs() * 2.0
        return functional.relu(x - 0.5) + torch.log1p(positive) * x


@pytest.mark.parametrize("name", ["relu", "log1p"])
def test_a_wrong_kernel_is_one_node_and_right_where_the_fault_is_not(
    name: str, numbers: Numbers, tmp_path: Path
) -> None:
    setting = f"cpp.inject_{name}_bug_TESTING_ONLY"
    with config.patch({setting: "accuracy"}):
        numbers.run(Activated(), torch.randn(8, 8), backend="inductor")
    found = numbers.found(is_reproducing=True)

    script = found.reproducers[0]

    line = f"torch._inductor.config.{setting} = 'accuracy'\n"
    assert script.claim == f"The code that inductor writes for {name} is wrong."
    assert (script.nodes, script.compiles, script.inputs) == (
        *(1, True),
        "drawn from a seed",
    )
    assert found.more_compilations + len(found.reproducers) <= 3
    assert said(script.text, tmp_path) == WRONG
    assert said(script.text.replace(line, ""), tmp_path) == RIGHT


def test_a_wrong_pass_is_the_nodes_before_and_behind(
    numbers: Numbers, tmp_path: Path
) -> None:
    def wrong(graph: Any) -> None:
        last = nodes(graph, aten.add.Tensor)[-1]
        last.replace_all_uses_with(last.args[1])
        graph.erase_node(last)

    with config.patch(post_grad_custom_post_pass=wrong):
        numbers.run(Perceptron(), torch.randn(4, 8), backward=False)
    (script,) = numbers.found(is_reproducing=True).reproducers

    assert "return torch.ops.aten.add" not in script.text
    assert functions(script) == [
        "def before(primals_3, relu):",
        "    add_1 = torch.ops.aten.add.Tensor(primals_3, relu)",
        "    return add_1",
        "def after(primals_3, relu):",
        "    return relu",
    ]
    assert (script.nodes, script.compiles) == (1, False)
    assert said(script.text, tmp_path) == WRONG


def functions(script: Reproducer) -> Sequence[str]:
    """The lines of the functions of a script that runs two."""
    _, _, text = script.text.partition("def before")
    body, _, _ = f"def before{text}".partition("def inputs")
    return [line for line in body.splitlines() if line]


def test_a_wrong_decomposition_is_its_operator_and_the_nodes_that_it_fell_into(
    monkeypatch: pytest.MonkeyPatch, numbers: Numbers, tmp_path: Path
) -> None:
    def gelu(x: Any, approximate: str = "none") -> Any:
        return x * torch.sigmoid(1.702 * x)

    table = decomposition.fast_random_decomps()
    monkeypatch.setitem(table, aten.gelu.default, gelu)
    numbers.run(Perceptron(), torch.randn(4, 8))
    compiled, _, both = numbers.found(is_reproducing=True).reproducers

    planted = (
        "import torch, torch._inductor.decomposition as there\n"
        "there.fast_random_decomps()[torch.ops.aten.gelu.default] = "
        "lambda x, approximate='none': x * torch.sigmoid(1.702 * x)\n"
    )
    assert [line.strip() for line in functions(both)[1:-1]] == [
        "gelu_default = torch.ops.aten.gelu.default(addmm)",
        "return gelu_default",
        "def after(addmm):",
        "mul = torch.ops.aten.mul.Tensor(addmm, 1.702)",
        "sigmoid = torch.ops.aten.sigmoid.default(mul)",
        "mul_1 = torch.ops.aten.mul.Tensor(addmm, sigmoid)",
    ]
    assert said(both.text, tmp_path) == WRONG
    assert said(planted + compiled.text, tmp_path) == WRONG
    assert said(compiled.text, tmp_path) == RIGHT


def test_a_wrong_pass_on_a_captured_graph_is_written_with_its_python_functions(
    numbers: Numbers, tmp_path: Path
) -> None:
    def wrong(graph: Any) -> None:
        nodes(graph, functional.relu)[0].target = torch.tanh

    with config.patch(pre_grad_custom_pass=wrong):
        numbers.run(Normed(), torch.randn(4, 8))
    (script,) = numbers.found(is_reproducing=True).reproducers

    assert [line.strip() for line in functions(script)[1::3]] == [
        "relu = torch.nn.functional.relu(l_x_)",
        "relu = torch.tanh(l_x_)",
    ]
    assert said(script.text, tmp_path) == WRONG


def test_a_backend_that_runs_something_else_has_no_reproducer(
    numbers: Numbers,
) -> None:
    def scaling(gm: Any, _inputs: Any) -> Any:
        def run(*args: Any) -> list[Any]:
            return [out * 1.01 for out in gm(*args)]

        return run

    numbers.run(Perceptron(), torch.randn(4, 8), backend=scaling)
    found = numbers.found(is_reproducing=True)

    assert found.reproducers == ()
    assert found.no_reproducer == "there is no graph of what the backend runs"


def test_a_change_of_gradients_alone_is_the_nodes_around_it(
    numbers: Numbers, tmp_path: Path
) -> None:
    def cuts_gradients(graph: Any) -> None:
        (relu,) = nodes(graph, functional.relu)
        with graph.inserting_before(relu):
            relu.args = (graph.call_method("detach", relu.args),)

    with config.patch(pre_grad_custom_pass=cuts_gradients):
        numbers.run(Normed(), torch.randn(4, 8, requires_grad=True))
    (script,) = numbers.found(is_reproducing=True).reproducers

    assert functions(script) == [
        "def before(l_x_):",
        "    relu = torch.nn.functional.relu(l_x_)",
        "    return relu",
        "def after(l_x_):",
        "    detach = l_x_.detach()",
        "    relu = torch.nn.functional.relu(detach)",
        "    return relu",
    ]
    assert (script.nodes, script.compiles) == (2, False)
    assert said(script.text, tmp_path) == WRONG
    assert said(script.text.replace(".detach()", ".clone()"), tmp_path) == RIGHT
