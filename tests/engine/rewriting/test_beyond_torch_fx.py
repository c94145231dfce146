"""Where torch.fx writes a broken graph or gives up, ours is right."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.graph import Graph
from fxls.engine.passes.utils.matcher_utils import SubgraphMatcher
from fxls.engine.subgraph_rewriter import replace_pattern
from tests.engine.rewriting.oracle import rewritten

X: Any = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])
Y: Any = torch.tensor([[5.0, -6.0], [-7.0, 8.0]])


def relu(x: Any) -> Any:
    return torch.relu(x)


def test_a_result_that_has_no_candidate_means_no_match() -> None:
    def program(x: Any) -> Any:
        return torch.relu(x)

    _, outcome = rewritten(
        program, lambda x: (torch.relu(x), torch.sigmoid(x)), lambda x: (x, x)
    )
    assert outcome.matches == []


def test_a_user_of_the_first_result_moves_behind_the_input_of_the_second() -> None:
    def program(x: Any, y: Any) -> Any:
        a = torch.relu(x)
        early = torch.sigmoid(a) * 2
        aside = x + y
        late = torch.tanh(y)
        return early, torch.neg(late), aside

    gm, outcome = rewritten(
        program,
        lambda x, y: (torch.relu(x), torch.neg(y)),
        lambda x, y: (x + y, x - y),
        (X, Y),
    )
    assert gm.code == (
        """


def forward(self, x : _Any_, y : _Any_) -> _Any_:
    add = x + y
    tanh = torch.tanh(y);  y = None
    add_1 = x + tanh
    sub = x - tanh;  x = tanh = None
    sigmoid = torch.sigmoid(add_1);  add_1 = None
    mul = sigmoid * 2;  sigmoid = None
    return (mul, sub, add)
    """
    )
    tanh: Any = torch.tanh(Y)
    expected: tuple[Any, ...] = (torch.sigmoid(X + tanh) * 2, X - tanh, X + Y)
    assert outcome.result == [value.tolist() for value in expected]


def test_a_pattern_that_returns_its_input_does_not_use_itself() -> None:
    def program(x: Any) -> Any:
        y = torch.neg(x)
        return torch.relu(y) + y

    gm, outcome = rewritten(
        program, lambda y: (torch.relu(y), y), lambda y: (y * 2, y + 1), (X,)
    )
    assert "add_1 = neg + 1" in gm.code
    assert outcome.result == (-X * 2 + (-X + 1)).tolist()


def test_a_result_may_become_a_constant_that_an_input_stands_for() -> None:
    def program(x: Any) -> Any:
        return torch.add(x, 3) * x

    gm, outcome = rewritten(program, lambda x, y: torch.add(x, y), lambda x, y: y, (X,))
    assert "mul = 3 * x" in gm.code
    assert outcome.result == (3 * X).tolist()


def test_a_list_is_put_in_with_what_replaced_its_elements() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.relu(torch.stack([torch.relu(torch.stack([x, y])), y]))

    _, outcome = rewritten(
        program,
        lambda parts: torch.relu(torch.stack(parts)),
        lambda parts: torch.cat(parts),
        (X, Y),
    )
    assert outcome.result == [*X.tolist(), *Y.tolist(), *Y.tolist()]


def test_results_in_a_dict_are_taken_in_their_order() -> None:
    def program(x: Any) -> Any:
        return torch.relu(x) * torch.neg(x)

    _, outcome = rewritten(
        program,
        lambda x: {"a": torch.relu(x), "b": torch.neg(x)},
        lambda x: {"a": x + 1, "b": x + 2},
        (X,),
    )
    assert outcome.result == ((X + 1) * (X + 2)).tolist()


def test_constants_of_a_function_come_along_under_names_of_their_own() -> None:
    def program(x: Any) -> Any:
        return torch.relu(x) + torch.tensor([1.0, 2.0])

    def replacement(x: Any) -> Any:
        return x * torch.tensor([3.0, 4.0])

    gm, outcome = rewritten(program, relu, replacement, (X,))
    expected: Any = X * torch.tensor([3.0, 4.0]) + torch.tensor([1.0, 2.0])
    assert outcome.result == expected.tolist()
    names = ("_tensor_constant0", "_tensor_constant1")
    held: list[Any] = [getattr(gm, name) for name in names]
    assert [one.tolist() for one in held] == [[1.0, 2.0], [3.0, 4.0]]


def test_an_attribute_in_a_submodule_comes_along() -> None:
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor([2.0]))

    class Replacement(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: Any) -> Any:
            return x * self.inner.scale

    gm, outcome = rewritten(relu, relu, Replacement(), (X,))
    assert outcome.members == {"inner": "Module", "inner.scale": "Parameter"}
    assert outcome.result == (X * 2).tolist()
    assert gm.get_parameter("inner.scale").item() == 2.0


def test_deep_patterns_need_no_recursion() -> None:
    depth = sys.getrecursionlimit() + 1

    def deep(x: Any) -> Any:
        for _ in range(depth):
            x = torch.neg(x)
        return x

    pattern = symbolic_trace(deep).graph
    program = symbolic_trace(deep)
    (match,) = SubgraphMatcher(pattern).match(program.graph)
    assert len(match.nodes_map) == depth + 1


def test_edits_before_a_rewriting_that_finds_nothing_are_compiled() -> None:
    gm = symbolic_trace(lambda x: torch.neg(x))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  # a lambda has no types
    assert gm(X).tolist() == (-X).tolist()
    (neg,) = gm.graph.find_nodes(op="call_function", target=torch.neg)
    neg.target = torch.abs
    assert replace_pattern(gm, relu, relu) == []
    assert gm(X).tolist() == X.abs().tolist()


def test_a_rewriting_that_finds_nothing_keeps_the_function() -> None:
    gm = symbolic_trace(relu)
    gm(X)
    function = type(gm).forward
    assert replace_pattern(gm, lambda x: torch.neg(x), relu) == []  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  # a lambda has no types
    assert type(gm).forward is function


def test_a_graph_that_is_out_of_order_is_searched_for_cycles() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    first = graph.call_function(torch.relu, (x,))
    outside = graph.call_function(torch.sigmoid, (first,))
    last = graph.call_function(torch.neg, (outside,))
    graph.output((last, first))
    last.append(outside)  # the only way from relu to neg lies behind both
    pattern = symbolic_trace(lambda x, y: (torch.relu(x), torch.neg(y))).graph  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  # a lambda has no types
    assert SubgraphMatcher(pattern).match(graph) == []
