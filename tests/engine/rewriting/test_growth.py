"""Rewriting takes time in proportion to the graph, whatever matches in it.

Time is counted in calls of functions, which is the same on every machine.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.subgraph_rewriter import replace_pattern

pytestmark = pytest.mark.slow


def chain(count: int) -> GraphModule:
    graph = Graph()
    x, w, b = (graph.placeholder(name) for name in "xwb")
    for _ in range(count // 4):
        for function in (torch.relu, torch.sigmoid):
            x = graph.call_function(functional.linear, (x, w, b))
            x = graph.call_function(function, (x,))
    graph.output(x)
    return GraphModule(torch.nn.Module(), graph)


def hub(count: int) -> GraphModule:
    """Every match uses the one input."""
    graph = Graph()
    x = total = graph.placeholder("x")
    for _ in range(count):
        used = graph.call_function(torch.relu, (x,))
        total = graph.call_function(torch.add, (total, used))
    graph.output(total)
    return GraphModule(torch.nn.Module(), graph)


def relu_of_linear(x: Any, w: Any, b: Any) -> Any:
    return torch.relu(functional.linear(x, w, b))


def tanh_of_linear(x: Any, w: Any, b: Any) -> Any:
    return torch.tanh(functional.linear(x, w, b))


def pair_of_linears(x: Any, w: Any, b: Any) -> Any:
    inner = torch.relu(functional.linear(x, w, b))
    return inner, functional.linear(inner, w, b)


def pair(x: Any, w: Any, b: Any) -> Any:
    return x * w, x + b


def relu(x: Any) -> Any:
    return torch.relu(x)


def identity(x: Any) -> Any:
    return x


def twice(x: Any) -> Any:
    return torch.relu(torch.relu(x))


@pytest.mark.parametrize(
    ("make", "pattern", "replacement", "share"),
    [
        (chain, relu_of_linear, tanh_of_linear, 1 / 4),
        (chain, relu, identity, 1 / 4),
        (chain, pair_of_linears, pair, 1 / 4),
        (chain, twice, relu, 0),
        (hub, relu, identity, 1),
    ],
    ids=["function", "identity", "two results", "nothing", "hub"],
)
def test_calls_grow_with_the_graph(
    make: Callable[[int], GraphModule], pattern: Any, replacement: Any, share: float
) -> None:
    def calls_for(count: int) -> int:
        gm = make(count)
        calls = 0

        def count_call(_frame: Any, event: str, _arg: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count_call)
        try:
            matches = replace_pattern(gm, pattern, replacement)
        finally:
            sys.setprofile(None)
        assert len(matches) == count * share
        return calls

    small, large = calls_for(400), calls_for(6400)
    assert math.log(large / small, 16) < 1.05
