"""Captum's stochastic gates, whose helper is wrapped, are traced and trained."""

from __future__ import annotations

import importlib
from typing import Any

import torch
import torch.fx
from torch import nn

gates: Any = importlib.import_module("captum.module")


class Gated(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.gates = kind(4, reg_weight=0.1)
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        gated, regularization = self.gates(x)
        return self.head(gated), regularization


def test_gates_are_calls_of_a_module_that_is_a_leaf() -> None:
    class Leaf(torch.fx.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            is_gate = type(m).__module__.startswith("captum")
            return is_gate or super().is_leaf_module(m, module_qualified_name)

    model = Gated(gates.BinaryConcreteStochasticGates).eval()
    traced: Any = torch.fx.GraphModule(model, Leaf().trace(model))
    x = torch.randn(3, 4)

    assert torch.equal(traced(x)[0], model(x)[0])
    traced(x)[0].sum().backward()
    assert model.head.weight.grad is not None


def test_a_wrapped_helper_is_one_call() -> None:
    module: Any = importlib.import_module(
        gates.BinaryConcreteStochasticGates.__module__
    )

    def drawn(batch: Any) -> Any:
        return module._torch_empty(batch, 2, torch.device("cpu")).zero_()

    traced: Any = torch.fx.symbolic_trace(drawn)

    assert [n.op for n in traced.graph.nodes][1] == "call_function"
    assert traced(3).shape == (3, 2)
