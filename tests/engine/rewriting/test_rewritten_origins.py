"""A node that was put in comes from all nodes that it stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.graph import Graph
from fxls.engine.origins import resolve as origin
from fxls.engine.subgraph_rewriter import replace_pattern
from fxls.listing import Origin

X = torch.ones(2)


def program(x: Any) -> Any:
    a = torch.relu(x)
    b = torch.neg(a)
    c = torch.sigmoid(b)
    return torch.tanh(c)


def pattern(x: Any) -> Any:
    return torch.sigmoid(torch.neg(torch.relu(x)))


def replacement(x: Any) -> Any:
    shifted = x + 1
    return shifted * 2


def told(origins: tuple[Origin, ...]) -> list[str]:
    """The innermost expression of each origin, as it is written."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    spans = [one.places[0].span for one in origins]
    return [lines[at.start.line][at.start.column : at.end.column] for at in spans]


def node_named(graph: Any, name: str) -> Any:
    return next(node for node in graph.nodes if node.name == name)


def test_the_origins_are_all_matched_expressions_and_the_replacements_own() -> None:
    gm = symbolic_trace(program)
    replace_pattern(gm, pattern, replacement)
    matched = ["torch.relu(x)", "torch.neg(a)"]
    result = "torch.sigmoid(b)"
    assert told(node_named(gm.graph, "add").origins) == [result, *matched, "x + 1"]
    assert told(node_named(gm.graph, "mul").origins) == [
        result,
        *matched,
        "shifted * 2",
    ]
    assert told(node_named(gm.graph, "tanh").origins) == ["torch.tanh(c)"]


def test_the_first_origin_is_that_of_the_result_and_its_stack_trace() -> None:
    gm = symbolic_trace(program)
    replace_pattern(gm, pattern, replacement)
    mul = node_named(gm.graph, "mul")
    assert mul.origin == mul.origins[0]
    assert mul.stack_trace.endswith("c = torch.sigmoid(b)")


def test_each_of_several_results_comes_from_its_own_first() -> None:
    def both(x: Any) -> Any:
        return torch.relu(x) + torch.neg(x)

    def pair(x: Any) -> Any:
        return torch.relu(x), torch.neg(x)

    def other_pair(x: Any) -> Any:
        return x + 1, x * 2

    gm = symbolic_trace(both)
    before = {node.name: node.origin for node in gm.graph.nodes}
    replace_pattern(gm, pair, other_pair)
    assert node_named(gm.graph, "add_1").origin == before["relu"]
    assert node_named(gm.graph, "mul").origin == before["neg"]


def test_origins_add_up_over_rewritings() -> None:
    gm = symbolic_trace(program)
    replace_pattern(gm, pattern, replacement)

    def next_pattern(x: Any) -> Any:
        return torch.tanh((x + 1) * 2)

    def next_replacement(x: Any) -> Any:
        return torch.abs(x)

    replace_pattern(gm, next_pattern, next_replacement)
    (absolute,) = [node for node in gm.graph.nodes if node.op == "call_function"]
    names = {one.places[0].function.rpartition(".")[2] for one in absolute.origins}
    assert names == {"program", "replacement", "next_replacement"}
    assert told(absolute.origins[:1]) == ["torch.tanh(c)"]
    assert len(absolute.origins) == 7


def test_origins_survive_tracing_the_result_again() -> None:
    gm = symbolic_trace(program)
    replace_pattern(gm, pattern, replacement)
    again = symbolic_trace(gm)
    for name in ("add", "mul", "tanh"):
        expected = node_named(gm.graph, name).origins
        assert node_named(again.graph, name).origins == expected


def test_origins_survive_copies() -> None:
    gm = symbolic_trace(program)
    replace_pattern(gm, pattern, replacement)
    copied = Graph()
    copied.output(copied.graph_copy(gm.graph, {}))
    assert [node.origins for node in copied.nodes if node.op == "call_function"] == [
        node.origins for node in gm.graph.nodes if node.op == "call_function"
    ]


def test_nodes_made_by_hand_have_no_origin() -> None:
    graph = Graph()
    node = graph.call_function(torch.relu, (graph.placeholder("x"),))
    assert node.origins == ()
    assert origin.merge([None, None]) is None


def test_merging_costs_the_same_however_often_it_was_done() -> None:
    nodes: list[Any] = list(symbolic_trace(program).graph.nodes)
    first, second = nodes[1]._frames, nodes[2]._frames
    merged = first
    for _ in range(200):  # a tree with 2 ** 200 leaves
        merged = origin.merge([merged, origin.merge([merged, second])])
    found = [str(one) for one in origin.resolve_all(merged)]
    assert found == [str(nodes[1].origin), str(nodes[2].origin)]
    assert origin.resolve(merged) == nodes[1].origin
