"""Checks and annotations of a function are recorded, as in torch.fx."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from torch import nn

from fxls import engine
from fxls.engine.experimental.rewriter import AST_Rewriter, RewritingTracer


class Checked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Any, low: Any = 0) -> Any:
        assert x.sum() > low, "the sum is too low"
        y: torch.Tensor = x * self.scale
        assert y.dim() == 1
        return y


class Plain(nn.Module):
    def forward(self, x: Any) -> Any:
        assert x.dim() == 1, "one dimension"
        return torch.relu(x)


def test_the_graph_is_that_of_torch_fx() -> None:
    theirs: Any = importlib.import_module("torch.fx.experimental.rewriter")

    expected = theirs.RewritingTracer().trace(Plain())
    graph = RewritingTracer().trace(Plain())

    assert [(n.op, n.target, str(n.args)) for n in graph.nodes] == [
        (n.op, n.target, str(n.args)) for n in expected.nodes
    ]


def test_a_function_keeps_what_it_closes_over() -> None:
    limit = 3

    def inner(x: Any) -> Any:
        assert x.sum() < limit
        return x + limit

    graph = RewritingTracer().trace(inner)

    assert [n.name for n in graph.nodes] == [
        *("x", "sum_1", "lt", "_assert", "add", "output")
    ]


def test_the_checks_hold_when_the_module_runs() -> None:
    model, tracer = Checked(), RewritingTracer()
    module: Any = engine.GraphModule(model, tracer.trace(model))

    assert torch.equal(module(torch.ones(2)), torch.ones(2))
    with pytest.raises(AssertionError, match="the sum is too low"):
        module(-torch.ones(2))


def test_an_annotation_is_the_type_of_the_node() -> None:
    graph = RewritingTracer().trace(Checked())

    assert [n.type for n in graph.nodes if n.name == "mul"] == [torch.Tensor]


def test_a_node_has_its_line_of_the_source() -> None:
    tracer = RewritingTracer()
    graph = tracer.trace(Checked())

    node: Any = next(n for n in graph.nodes if n.name == "sum_1")

    assert node.origin.places[0].path == __file__


def test_a_rewriter_may_leave_checks_and_annotations_as_they_are() -> None:
    class Nothing(AST_Rewriter):
        def visit_Assert(self, node: Any) -> Any:  # noqa: N802 - FX's name
            return node

        def visit_AnnAssign(self, node: Any) -> Any:  # noqa: N802 - FX's name
            return node

    assert Nothing().rewrite(Checked.forward).__code__.co_names == (
        "sum",
        "scale",
        "dim",
    )


def wrapped_here(x: Any) -> Any:
    return x + 1


@engine.wrap
def decorated_here(x: Any) -> Any:
    return x * 2


engine.wrap("wrapped_here")


def test_wrapped_functions_of_the_module_are_recorded() -> None:
    class Calls(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            assert x is not None
            return decorated_here(wrapped_here(x))

    graph: Any = RewritingTracer().trace(Calls())

    targets = [n.target for n in graph.nodes if n.op == "call_function"]
    assert [target.__name__ for target in targets][-2:] == [
        "wrapped_here",
        "decorated_here",
    ]


class Explained(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        assert x == y, """a text with
less indentation"""
        return x + y


def test_a_text_in_the_source_keeps_its_indentation() -> None:
    model = Explained()

    module = engine.GraphModule(model, RewritingTracer().trace(model))

    assert module(2, 2) == 4
    with pytest.raises(AssertionError, match=r"^a text with\nless indentation\n"):
        module(2, 3)
