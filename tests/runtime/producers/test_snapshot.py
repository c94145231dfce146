"""A graph of torch's FX becomes one of the engine, node by node."""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from typing import Any

import torch
import torch.fx

from fxls.engine.code.codegen import marked_code
from fxls.engine.code.fences import FindMarks, KnownLines, marks_in
from fxls.engine.graph import Graph
from fxls.runtime.listings.facts import FactsOfNodes
from fxls.runtime.producers.snapshot import Snapshot


def _no_origins(nodes: Sequence[Any]) -> list[None]:
    return [None] * len(nodes)


def test_names_arguments_and_users_are_those_of_the_graph() -> None:
    graph: Any = torch.fx.Graph()
    x = graph.placeholder("x")
    first = graph.call_function(torch.relu, (x,))
    late = graph.call_function(torch.cat, ([first, x],), {"dim": 0})
    graph.output({"a": late, "b": (first, slice(None, x))})
    first.prepend(late)  # in front of what it uses
    first.name = "class"  # no namespace gives this
    made = Snapshot(graph, _no_origins).graph()
    assert [_seen(node) for node in made.nodes] == [_seen(node) for node in graph.nodes]
    assert made.create_node("call_function", torch.relu, (), name="x").name == "x_1"


def _seen(node: Any) -> tuple[object, ...]:
    call = (node.op, node.target, repr(node.args), repr(node.kwargs))
    return (node.name, *call, sorted(map(str, node.users)))


def test_who_writes_a_graph_by_rules_of_its_own_is_asked_for_the_text() -> None:
    fx: Any = torch.fx
    graph: Any = fx.symbolic_trace(torch.nn.ReLU()).graph
    assert not Snapshot(graph, _no_origins).has_rules_of_its_own()
    graph.set_codegen(type("OwnRules", (fx.graph.CodeGen,), {})())
    assert Snapshot(graph, _no_origins).has_rules_of_its_own()


def test_a_copy_that_follows_a_graph_is_what_a_new_copy_is() -> None:
    chance = random.Random(0)
    graph: Any = torch.fx.Graph()
    made: Any = graph.placeholder("x")
    for _ in range(12):
        made = graph.call_function(operator.add, (made, 1))
    graph.output(made)
    copy, followed = Snapshot(graph, _no_origins).copied(), 0
    lines = KnownLines()
    for _ in range(300):
        _edit(graph, chance)
        now = Snapshot(graph, _no_origins)
        following = now.follow(copy) if copy.can_follow else None
        followed += following is not None
        copy = following or now.copied()
        assert _all_of(copy.graph, lines.marks_in) == _all_of(now.graph(), marks_in)
    assert followed > 150


def test_a_copy_does_not_follow_nodes_that_moved() -> None:
    graph: Any = torch.fx.Graph()
    x = graph.placeholder("x")
    one = graph.call_function(torch.relu, (x,))
    other = graph.call_function(torch.tanh, (x,))
    graph.output((one, other))
    copy = Snapshot(graph, _no_origins).copied()
    one.prepend(other)
    assert Snapshot(graph, _no_origins).follow(copy) is None


def test_a_copy_does_not_follow_where_a_new_node_is_in_front_of_what_it_uses() -> None:
    graph: Any = torch.fx.Graph()
    x = graph.placeholder("x")
    one = graph.call_function(torch.relu, (x,))
    graph.output(one)
    copy = Snapshot(graph, _no_origins).copied()
    with graph.inserting_before(one):
        graph.call_function(torch.tanh, (one,))
    late = Snapshot(graph, _no_origins)
    assert late.follow(copy) is None
    assert not late.copied().can_follow


def _edit(graph: Any, chance: random.Random) -> None:
    """A few edits, as passes make them; few of them move a node."""
    for _ in range(chance.randint(1, 3)):
        nodes = list(graph.nodes)
        calls = [node for node in nodes if node.op == "call_function"]
        at = chance.choice(calls)
        before = nodes[: nodes.index(at)]
        kind = chance.randrange(9)
        if kind < 3:
            with graph.inserting_before(at):
                given = (chance.choice(before), chance.choice(before))
                new = graph.call_function(operator.add, given)
            at.args = (new, *at.args[1:])
        elif kind == 3:
            at.replace_all_uses_with(at.args[0])
            if len(calls) > 6:
                graph.erase_node(at)
        elif kind == 4:
            at.args = (chance.choice(before), [chance.choice(before), 2.5])
            at.target = torch.cat
        elif kind == 5:
            at.target, at.name = operator.mul, f"renamed_{chance.randrange(10**6)}"
        elif kind == 6:
            at.meta["tensor_meta"] = chance.choice((1, "a"))
            at.meta["nn_module_stack"] = {"": ("a.b", torch.nn.ReLU)}
            at.type = chance.choice((int, torch.Tensor, None))
        elif kind == 7:
            at.kwargs = {"out": chance.choice(before)} if chance.random() < 0.5 else {}
        elif kind == 8:
            max(at.all_input_nodes, key=nodes.index).append(at)


def _all_of(graph: Graph, find: FindMarks) -> tuple[object, ...]:
    """What a listing says of a graph."""
    code = marked_code(graph, find=find)
    facts = FactsOfNodes(torch.nn.Module(), graph)
    rows = [
        facts.of(node, at) for node, at in zip(facts.nodes, code.lines, strict=True)
    ]
    return (code.code.src, code.marks, rows, facts.tables.scopes, facts.targets.rows)
