"""What AOTAutograd traces wrongly is named, with the node that it was traced of."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.runtime.numbers.looking import (
    COMPILING,
    Blamed,
    Numbers,
    any_torch,
    aten,
    blamed,
    nodes,
    without_kernels,
)
from tests.support.programs import needs_inductor

pytestmark = COMPILING

graph_capture: Any = importlib.import_module(
    "torch._functorch._aot_autograd.graph_capture"
)


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        gate = torch.sigmoid(y)
        return y * gate + 1.0


def plant(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Any], None]) -> None:
    """Let each trace of AOTAutograd have a fault from the beginning."""
    make_fx = graph_capture.make_fx

    def wrong(*given: Any, **how: Any) -> Callable[..., Any]:
        trace = make_fx(*given, **how)

        def traced(*values: Any) -> Any:
            module = trace(*values)
            fault(module.graph)
            module.recompile()
            return module

        return traced

    monkeypatch.setattr(graph_capture, "make_fx", wrong)


def tanh_for_sigmoid(graph: Any) -> None:
    for node in nodes(graph, aten.sigmoid.default):
        node.target = aten.tanh.default


def three_for_one(graph: Any) -> None:
    for node in nodes(graph, aten.add.Tensor):
        if node.args[1] == 1.0:
            node.args = (node.args[0], 3.0)


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("backend", [without_kernels, "aot_eager"])
@pytest.mark.parametrize(
    ("fault", "node", "code"),
    [
        (tanh_for_sigmoid, "sigmoid", "torch.sigmoid(y)"),
        (three_for_one, "add", "y * gate + 1.0"),
    ],
)
def test_the_trace_is_at_fault_with_the_node_that_it_was_of(
    numbers: Numbers,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Any], None],
    node: str,
    code: str,
    backend: Any,
    is_training: bool,  # a parameter of pytest
) -> None:
    plant(monkeypatch, fault)
    with torch.set_grad_enabled(is_training):
        found = numbers.of(Gated(), torch.randn(4, 8), backend=backend)

    (first,) = found.faults
    assert blamed(first) == Blamed("trace", "traced", "AOTAutograd", (node,), code)
    assert first.evidence.beside == "the captured graph"


class Halved(nn.Module):
    """Its gradients lead back through nodes that nothing is decomposed of."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x).sin()
        z = y * 0.5
        return z.reshape(2, 32).sum(1)


def three_for_a_half(graph: Any) -> None:
    for node in nodes(graph, aten.mul.Tensor)[1:]:
        node.args = (node.args[0], 3.0)


def infinity_for_a_half(graph: Any) -> None:
    for node in nodes(graph, aten.mul.Tensor)[1:]:
        node.args = (node.args[0], float("inf"))


def imprecisely_a_half(graph: Any) -> None:
    """Right in float64, and wrong in float32."""
    node = nodes(graph, aten.mul.Tensor)[1]
    with graph.inserting_before(node):
        more = graph.call_function(aten.add.Tensor, (node.args[0], 1e8))
        less = graph.call_function(aten.sub.Tensor, (more, 1e8))
    node.args = (less, node.args[1])
    for one in (more, less):
        one.meta.update(node.meta)


def sine_for_cosine(graph: Any) -> None:
    for node in nodes(graph, aten.cos.default):
        node.target = aten.sin.default


def nothing_for_a_bias(graph: Any) -> None:
    for node in nodes(graph, aten.sum.dim_IntList)[1:]:
        with graph.inserting_after(node):
            zero = graph.call_function(aten.mul.Tensor, (node, 0.0))
        node.replace_all_uses_with(zero)
        zero.args = (node, 0.0)
        zero.meta.update(node.meta)


@pytest.mark.parametrize("backend", [without_kernels, "aot_eager"])
@pytest.mark.parametrize(
    ("fault", "named", "code"),
    [
        (three_for_a_half, ("mul_1",), "y * 0.5"),
        (infinity_for_a_half, ("mul_1",), "y * 0.5"),
        (imprecisely_a_half, ("add_tensor", "sub_tensor", "mul_1"), "y * 0.5"),
        (sine_for_cosine, ("cos", "mul_2"), "self.linear(x).sin()"),
    ],
)
def test_a_gradient_that_is_traced_wrongly_is_named(
    numbers: Numbers,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Any], None],
    named: tuple[str, ...],
    code: str,
    backend: Any,
) -> None:
    plant(monkeypatch, fault)
    found = numbers.of(Halved(), torch.randn(8, 8), backend=backend)

    (first,) = found.faults
    assert blamed(first) == Blamed("trace", "traced", "AOTAutograd", named, code)
    assert first.evidence.beside == "autograd"
    assert first.gradients == ("self.linear.weight", "self.linear.bias")


def test_a_gradient_is_named_where_a_node_of_no_backward_makes_it_wrong(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, nothing_for_a_bias)
    found = numbers.of(Halved(), torch.randn(8, 8), backend="aot_eager")

    (first,) = found.faults
    assert first.kind == "trace"
    assert first.gradients == ("self.linear.bias",)
    # Whether it stands in the backward of the module, versions of torch say differently.
    assert first.gradient_of == ("" if first.where else "self.linear.bias")
    assert {one.backward_of for one in first.where} <= {"linear"}


class Scaled(nn.Module):
    """Its backward saves inputs, and computes the rest again."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = any_torch.norm(x, dim=-1, keepdim=True).detach()
        return (x / length).sin() * length


@needs_inductor
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_backward_of_a_later_call_says_nothing_of_the_first(
    numbers: Numbers, backend: str
) -> None:
    called_twice(Scaled(), backend)
    found = numbers.found()
    assert found.faults == ()
    assert found.unseen == ()


@needs_inductor
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_what_is_traced_wrongly_is_named_where_the_backward_is_of_a_later_call(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    plant(monkeypatch, sine_for_cosine)
    called_twice(Scaled(), backend)

    (first,) = numbers.found().faults
    names, code = ("cos", "mul_2"), "(x / length).sin()"
    assert blamed(first) == Blamed("trace", "traced", "AOTAutograd", names, code)
    assert first.gradients == ("x",)


NORMED = {
    "linear": lambda: nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)),
    "convolution": lambda: nn.Sequential(
        *(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU()),
        *(nn.Conv1d(4, 4, 3), nn.BatchNorm1d(4)),
    ),
    "instance": lambda: nn.Sequential(nn.Conv1d(1, 4, 3), nn.InstanceNorm1d(4)),
}
"""What is in front of a norm gets gradients of which nothing is left but roundings, where
the sum of what the norm gives is wanted."""


@needs_inductor
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("model", NORMED)
def test_gradients_that_cancel_out_are_right(
    numbers: Numbers, model: str, backend: str
) -> None:
    any_torch.manual_seed(0)
    made: Any = NORMED[model]()
    x = any_torch.randn(4, 8) if model == "linear" else any_torch.randn(2, 1, 12)
    any_torch.compile(made, backend=backend)(x).sum().backward()
    found = numbers.found()
    assert found.faults == ()
    assert found.unseen == ()


def called_twice(model: nn.Module, backend: str) -> None:
    any_torch.manual_seed(0)
    compiled: Any = any_torch.compile(model, backend=backend)
    first, second = (torch.randn(4, 8, requires_grad=True) for _ in range(2))
    any_torch.sum(compiled(first) + compiled(second * 3)).backward()
