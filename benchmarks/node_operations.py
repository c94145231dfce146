"""What is timed on the nodes of a chain: to make, read, find, change and erase them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.measure import Prepare
from benchmarks.packages import Fx

__all__ = [
    "compare",
    "create",
    "erase",
    "find",
    "find_unsorted",
    "inputs",
    "insert",
    "iterate",
    "map_arg",
    "read",
    "replace_all_uses",
    "replace_in_one_list",
    "replace_input",
    "replace_many_uses",
    "set_args",
    "set_name",
    "zigzag",
]


def create(fx: Fx, nodes: int) -> Prepare:
    def run() -> None:
        graph = fx.Graph()
        last = graph.placeholder("x")
        for _ in range(nodes):
            last = graph.call_function(torch.relu, (last,))

    return lambda: run


def _nodes(fx: Fx, count: int) -> tuple[Any, list[Any]]:
    """What `models.Chain` is traced to, without tracing it."""
    graph = fx.Graph()
    h, w, b = map(graph.placeholder, "hwb")
    for _ in range(count // 2):
        linear = graph.call_function(nn.functional.linear, (h, w, b))
        h = graph.call_function(torch.relu, (linear,))
    graph.output(h)
    return graph, list(graph.nodes)


def iterate(fx: Fx, count: int) -> Prepare:
    graph, _ = _nodes(fx, count)

    def run() -> None:
        for _ in graph.nodes:
            pass

    return lambda: run


def read(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            _ = (node.op, node.target, node.args, node.users)

    return lambda: run


def compare(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for one, other in itertools.pairwise(nodes):
            _ = one < other

    return lambda: run


def inputs(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            _ = node.all_input_nodes

    return lambda: run


def map_arg(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)
    map_arg = fx.node.map_arg

    def run() -> None:
        for node in nodes:
            map_arg(node.args, _identity)

    return lambda: run


def _identity(value: Any) -> Any:
    return value


def find(fx: Fx, count: int) -> Prepare:
    graph, _ = _nodes(fx, count)
    return lambda: lambda: graph.find_nodes(op="call_function", target=torch.relu)


def find_unsorted(fx: Fx, count: int) -> Prepare:
    graph, _ = _nodes(fx, count)
    return lambda: (
        lambda: graph.find_nodes(op="call_function", target=torch.relu, sort=False)
    )


def insert(fx: Fx, count: int) -> Prepare:
    """In front of every node of a chain."""

    def prepare() -> Callable[[], Any]:
        graph, nodes = _nodes(fx, count)
        used = nodes[0]

        def run() -> None:
            for node in nodes[1:]:
                with graph.inserting_before(node):
                    graph.call_function(torch.relu, (used,))

        return run

    return prepare


def zigzag(fx: Fx, count: int) -> Prepare:
    """Each node between the last two."""

    def prepare() -> Callable[[], Any]:
        graph = fx.Graph()
        used = graph.placeholder("x")
        right = graph.call_function(torch.relu, (used,))

        def run() -> None:
            left, other = used, right
            for turn in range(count):
                with graph.inserting_after(left):
                    new = graph.call_function(torch.relu, (used,))
                left, other = (new, other) if turn % 2 else (left, new)

        return run

    return prepare


def erase(fx: Fx, count: int) -> Prepare:
    """The whole chain, last node first."""

    def prepare() -> Callable[[], Any]:
        graph, nodes = _nodes(fx, count)

        def run() -> None:
            for node in reversed(nodes):
                graph.erase_node(node)

        return run

    return prepare


def replace_all_uses(fx: Fx, count: int) -> Prepare:
    """Every node by the input."""

    def prepare() -> Callable[[], Any]:
        _, nodes = _nodes(fx, count)
        by = nodes[0]

        def run() -> None:
            for node in nodes[3:-1]:
                node.replace_all_uses_with(by)

        return run

    return prepare


def replace_many_uses(fx: Fx, count: int) -> Prepare:
    """The weight, which half of all nodes use."""
    _, nodes = _nodes(fx, count)
    one, other = nodes[1], nodes[0]

    def run() -> None:
        one.replace_all_uses_with(other)
        other.replace_all_uses_with(one)

    return lambda: run


def replace_in_one_list(fx: Fx, count: int) -> Prepare:
    """The first 50 of the nodes that are one argument of a `cat`."""

    def prepare() -> Callable[[], Any]:
        graph = fx.Graph()
        x, by = map(graph.placeholder, "xy")
        rows = [graph.call_function(torch.relu, (x,)) for _ in range(count)]
        graph.output(graph.call_function(torch.cat, (rows,)))

        def run() -> None:
            for row in rows[:50]:
                row.replace_all_uses_with(by)

        return run

    return prepare


def replace_input(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)
    pairs = [(node, node.all_input_nodes[0]) for node in nodes[3:]]
    by = nodes[0]

    def run() -> None:
        for node, used in pairs:
            node.replace_input_with(used, by)
            node.replace_input_with(by, used)

    return lambda: run


def set_args(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            node.args = node.args

    return lambda: run


def set_name(fx: Fx, count: int) -> Prepare:
    _, nodes = _nodes(fx, count)

    def run() -> None:
        for node in nodes:
            node.name = node.name

    return lambda: run
