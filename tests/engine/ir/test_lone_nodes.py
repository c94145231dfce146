"""A node that a program makes without a graph can be edited, pickled and taken over."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch
import torch.fx

from fxls import engine

BOTH = pytest.mark.parametrize("fx", [torch.fx, engine], ids=["torch.fx", "engine"])


def lone(fx: Any, *args: Any) -> Any:
    kwargs = {"alpha": 2}
    return fx.Node(None, "sum", "call_function", torch.add, args, kwargs, int)


def said(node: Any) -> tuple[Any, ...]:
    call = (node.op, node.target, node.args, node.kwargs)
    return (*call, node.name, node.type, node.format_node(), node.meta)


@BOTH
def test_it_is_what_it_was_made_as(fx: Any) -> None:
    text = "%sum : int [num_users=0] = call_function[target=torch.add](args = (1, 2), kwargs = {alpha: 2})"
    call: tuple[Any, ...] = ("call_function", torch.add, (1, 2), {"alpha": 2})

    assert said(lone(fx, 1, 2)) == (*call, "sum", int, text, {})


@BOTH
def test_it_is_a_user_of_the_nodes_that_it_gets(fx: Any) -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    node = lone(fx, x, 1)
    assert (list(x.users), list(y.users)) == ([node], [])

    node.update_arg(0, y)

    assert node.args == (y, 1)
    assert (list(x.users), list(y.users)) == ([], [node])
    assert list(graph.nodes) == [x, y]


@BOTH
def test_it_comes_back_from_a_pickle_with_what_is_noted(fx: Any) -> None:
    node = lone(fx, 1, (2,))
    node.meta = {"stage": 3}

    assert said(pickle.loads(pickle.dumps(node))) == said(node)


@BOTH
def test_it_is_in_no_other_graph(fx: Any) -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")

    with pytest.raises(AssertionError):
        x.append(lone(fx, x, 1))

    assert list(graph.nodes) == [x]
