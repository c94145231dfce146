"""A graph of torch's FX becomes one of the engine, node by node."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from fxls.runtime.producers.snapshot import Snapshot


def test_names_arguments_and_users_are_those_of_the_graph() -> None:
    graph: Any = torch.fx.Graph()
    x = graph.placeholder("x")
    first = graph.call_function(torch.relu, (x,))
    late = graph.call_function(torch.cat, ([first, x],), {"dim": 0})
    graph.output({"a": late, "b": (first, slice(None, x))})
    first.prepend(late)  # in front of what it uses
    first.name = "class"  # no namespace gives this
    made = Snapshot(graph, lambda _node: None).graph()
    assert [_seen(node) for node in made.nodes] == [_seen(node) for node in graph.nodes]
    assert made.create_node("call_function", torch.relu, (), name="x").name == "x_1"


def _seen(node: Any) -> tuple[object, ...]:
    call = (node.op, node.target, repr(node.args), repr(node.kwargs))
    return (node.name, *call, sorted(map(str, node.users)))


def test_who_writes_a_graph_by_rules_of_its_own_is_asked_for_the_text() -> None:
    fx: Any = torch.fx
    graph: Any = fx.symbolic_trace(torch.nn.ReLU()).graph
    assert not Snapshot(graph, lambda _: None).has_rules_of_its_own()
    graph.set_codegen(type("OwnRules", (fx.graph.CodeGen,), {})())
    assert Snapshot(graph, lambda _: None).has_rules_of_its_own()
