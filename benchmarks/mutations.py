"""What is timed of every public change of a graph and of a node, on graphs of n nodes.

Few arguments and users are those of a chain; many are those of one `cat` of n nodes, and
of one node that n others use. Between them are nodes that 2 or 50 others use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import torch

from benchmarks.measure import Prepare
from benchmarks.packages import Fx

__all__ = ["MUTATIONS", "Mutation"]

Made: TypeAlias = tuple[Any, list[Any]]
"""A graph, and its nodes in order, or those that are to change."""


class Mutation(NamedTuple):
    """One change, done n times or with n arguments."""

    operation: str
    shape: str
    make: Callable[[Fx, int], Made]
    change: Callable[[Any, list[Any]], Any]
    """Gets what `make` made."""
    repeats: bool = True
    """Whether it may be done again on the same graph."""

    def prepare(self, fx: Fx, count: int) -> Prepare:
        def fresh() -> Callable[[], Any]:
            graph, nodes = self.make(fx, count)
            return lambda: self.change(graph, nodes)

        if not self.repeats:
            return fresh
        run = fresh()
        return lambda: run


# -- graphs ----------------------------------------------------------------------


def _chain(fx: Fx, count: int) -> Made:
    graph = fx.Graph()
    x, y = map(graph.placeholder, "xy")
    for _ in range(count):
        x = graph.call_function(torch.add, (x, y))
    graph.output(x)
    return graph, list(graph.nodes)


def _keywords(fx: Fx, count: int) -> Made:
    graph = fx.Graph()
    x, y = map(graph.placeholder, "xy")
    for _ in range(count):
        x = graph.call_function(torch.add, (), {"input": x, "other": y, "alpha": 2})
    graph.output(x)
    return graph, list(graph.nodes)


def _list(fx: Fx, count: int) -> Made:
    """The last two nodes are the `cat` and the output."""
    graph = fx.Graph()
    x, _ = map(graph.placeholder, "xy")
    rows = [graph.call_function(torch.relu, (x,)) for _ in range(count)]
    graph.output(graph.call_function(torch.cat, (rows,)))
    return graph, list(graph.nodes)


def _arguments(fx: Fx, count: int) -> Made:
    """The same without a list: n positional arguments."""
    graph, nodes = _list(fx, count)
    nodes[-2].args = tuple(nodes[2:-2])
    return graph, nodes


def _keyword_list(fx: Fx, count: int) -> Made:
    """The same with the list as a keyword argument."""
    graph, nodes = _list(fx, count)
    nodes[-2].kwargs = {"tensors": nodes[-2].args[0]}
    nodes[-2].args = ()
    return graph, nodes


def _shared(fx: Fx, count: int, users: int) -> Made:
    """Nodes with so many users each, and behind each of them one that nobody uses."""
    graph = fx.Graph()
    x, y = map(graph.placeholder, "xy")
    pairs: list[Any] = []
    for _ in range(count // users):
        used, unused = (graph.call_function(torch.relu, (x,)) for _ in range(2))
        for _ in range(users):
            graph.call_function(torch.add, (used, y))
        pairs += [used, unused]
    return graph, pairs


def _two_users(fx: Fx, count: int) -> Made:
    return _shared(fx, count, 2)


def _fifty_users(fx: Fx, count: int) -> Made:
    return _shared(fx, count, 50)


# -- changes of a graph ----------------------------------------------------------


def _create_keywords(graph: Any, nodes: list[Any]) -> None:
    x, y = nodes[:2]
    for _ in nodes:
        graph.call_function(torch.add, (), {"input": x, "other": y})


def _create_one(graph: Any, nodes: list[Any]) -> None:
    graph.call_function(torch.cat, (nodes[2:-2],))


def _copy_each(graph: Any, nodes: list[Any]) -> None:
    for node in nodes[2:-1]:
        graph.node_copy(node)


def _copy_one(graph: Any, nodes: list[Any]) -> None:
    graph.node_copy(nodes[-2])


def _insert_points(graph: Any, nodes: list[Any]) -> None:
    for node in nodes:
        with graph.inserting_before(node):
            pass


def _erase_keywords(graph: Any, nodes: list[Any]) -> None:
    for node in reversed(nodes):
        graph.erase_node(node)


def _erase_one(graph: Any, nodes: list[Any]) -> None:
    graph.erase_node(nodes[-1])
    graph.erase_node(nodes[-2])


# -- changes of a node -----------------------------------------------------------


def _prepend(_: Any, nodes: list[Any]) -> None:
    """Each node but the ends, in front of the one before it, and back."""
    before = nodes[2]
    for node in nodes[3:-2]:
        before.prepend(node)
        node.prepend(before)
        before = node


def _append(_: Any, nodes: list[Any]) -> None:
    before = nodes[2]
    for node in nodes[3:-2]:
        node.append(before)
        before.append(node)
        before = node


def _prepend_one(_: Any, nodes: list[Any]) -> None:
    for _ in range(10):
        nodes[2].prepend(nodes[-2])
        nodes[-1].prepend(nodes[-2])


def _set_args(_: Any, nodes: list[Any]) -> None:
    y = nodes[1]
    for node in nodes[2:-1]:
        node.args = (node.args[0], y)


def _set_kwargs(_: Any, nodes: list[Any]) -> None:
    for node in nodes[2:-1]:
        node.kwargs = dict(node.kwargs)


def _set_one_list(_: Any, nodes: list[Any]) -> None:
    nodes[-2].args = (nodes[2:-2],)


def _set_one_reversed(_: Any, nodes: list[Any]) -> None:
    nodes[-2].args = (nodes[-3:1:-1],)


def _set_one_turned(_: Any, nodes: list[Any]) -> None:
    cat = nodes[-2]
    cat.args = (cat.args[0][::-1],)


def _set_many_arguments(_: Any, nodes: list[Any]) -> None:
    nodes[-2].args = tuple(nodes[2:-2])


def _set_one_keyword(_: Any, nodes: list[Any]) -> None:
    nodes[-2].kwargs = {"tensors": nodes[2:-2]}


def _update_arg(_: Any, nodes: list[Any]) -> None:
    y = nodes[1]
    for node in nodes[2:-1]:
        node.update_arg(1, y)


def _update_one_list(_: Any, nodes: list[Any]) -> None:
    nodes[-2].update_arg(0, nodes[2:-2])


def _update_many_arguments(_: Any, nodes: list[Any]) -> None:
    for _ in range(10):
        nodes[-2].update_arg(5, nodes[7])


def _insert_arg(_: Any, nodes: list[Any]) -> None:
    y = nodes[1]
    for node in nodes[2:-1]:
        node.insert_arg(1, y)


def _insert_many_arguments(_: Any, nodes: list[Any]) -> None:
    for _ in range(10):
        nodes[-2].insert_arg(5, nodes[1])


def _update_kwarg(_: Any, nodes: list[Any]) -> None:
    y = nodes[1]
    for node in nodes[2:-1]:
        node.update_kwarg("other", y)


def _set_op(_: Any, nodes: list[Any]) -> None:
    for node in nodes[2:-1]:
        node.op = "call_function"


def _set_target(_: Any, nodes: list[Any]) -> None:
    for node in nodes[2:-1]:
        node.target = torch.sub


def _set_name(_: Any, nodes: list[Any]) -> None:
    for node in nodes[2:-1]:
        node.name = node.name


def _set_used_name(_: Any, nodes: list[Any]) -> None:
    nodes[0].name = "x"


def _set_type(_: Any, nodes: list[Any]) -> None:
    for node in nodes[2:-1]:
        node.type = None


def _set_meta(_: Any, nodes: list[Any]) -> None:
    for node in nodes[2:-1]:
        node.meta = {}


def _replace_each(_: Any, nodes: list[Any]) -> None:
    """Every node by the input: one user each."""
    x = nodes[0]
    for node in nodes[2:-2]:
        node.replace_all_uses_with(x)


def _replace_used(_: Any, nodes: list[Any]) -> None:
    """What n nodes use, and back."""
    x, y = nodes[:2]
    (x if x.users else y).replace_all_uses_with(y if x.users else x)


def _replace_shared(_: Any, nodes: list[Any]) -> None:
    """Each node that several use by the one behind it, and back."""
    for one, other in zip(nodes[::2], nodes[1::2], strict=True):
        one.replace_all_uses_with(other)
        other.replace_all_uses_with(one)


def _admit(_user: Any) -> bool:
    return True


def _replace_admitted(_: Any, nodes: list[Any]) -> None:
    x, y = nodes[:2]
    used, by = (x, y) if x.users else (y, x)
    used.replace_all_uses_with(by, _admit)


def _replace_in_one(_: Any, nodes: list[Any]) -> None:
    """The first 50 that are in one list."""
    y = nodes[1]
    for node in nodes[2:52]:
        node.replace_all_uses_with(y)


def _replace_inputs(_: Any, nodes: list[Any]) -> None:
    x, y = nodes[:2]
    for node in nodes[3:-1]:
        node.replace_input_with(y, x)
        node.replace_input_with(x, y)


def _replace_inputs_of_one(_: Any, nodes: list[Any]) -> None:
    y, cat = nodes[1], nodes[-2]
    for node in nodes[2:52]:
        cat.replace_input_with(node, y)


def _mutations() -> Iterator[Mutation]:
    few = (("few", _chain), ("keywords", _keywords))
    yield Mutation(
        "call_function", "keywords", _keywords, _create_keywords, repeats=False
    )
    yield Mutation("call_function", "one list", _list, _create_one, repeats=False)
    for shape, make in few:
        yield Mutation("node_copy", shape, make, _copy_each, repeats=False)
        yield Mutation("erase_node", shape, make, _erase_keywords, repeats=False)
        yield Mutation(
            "replace_all_uses_with", shape, make, _replace_each, repeats=False
        )
        yield Mutation("replace_input_with", shape, make, _replace_inputs)
    yield Mutation("node_copy", "one list", _list, _copy_one, repeats=False)
    yield Mutation("inserting_before", "few", _chain, _insert_points)
    for shape, make in (
        ("one list", _list),
        ("many arguments", _arguments),
        ("keyword list", _keyword_list),
    ):
        yield Mutation("erase_node", shape, make, _erase_one, repeats=False)
        yield Mutation(
            "replace_all_uses_with", shape, make, _replace_in_one, repeats=False
        )
        yield Mutation(
            "replace_input_with", shape, make, _replace_inputs_of_one, repeats=False
        )
        yield Mutation("prepend", shape, make, _prepend_one)
    yield Mutation("prepend", "few", _chain, _prepend)
    yield Mutation("append", "few", _chain, _append)
    yield Mutation("node.args =", "few", _chain, _set_args)
    yield Mutation("node.args =", "one list", _list, _set_one_list)
    yield Mutation("node.args =", "one list, reversed", _list, _set_one_reversed)
    yield Mutation("node.args =", "one list, turned around", _list, _set_one_turned)
    yield Mutation("node.args =", "many arguments", _arguments, _set_many_arguments)
    yield Mutation("node.kwargs =", "keywords", _keywords, _set_kwargs)
    yield Mutation("node.kwargs =", "keyword list", _keyword_list, _set_one_keyword)
    yield Mutation("update_arg", "few", _chain, _update_arg)
    yield Mutation("update_arg", "one list", _list, _update_one_list)
    yield Mutation("update_arg", "many arguments", _arguments, _update_many_arguments)
    yield Mutation("insert_arg", "few", _chain, _insert_arg, repeats=False)
    yield Mutation(
        "insert_arg",
        "many arguments",
        _arguments,
        _insert_many_arguments,
        repeats=False,
    )
    yield Mutation("update_kwarg", "keywords", _keywords, _update_kwarg)
    yield Mutation("node.op =", "few", _chain, _set_op)
    yield Mutation("node.target =", "few", _chain, _set_target)
    yield Mutation("node.name =", "few", _chain, _set_name)
    yield Mutation("node.name =", "n users", _list, _set_used_name)
    yield Mutation("node.type =", "few", _chain, _set_type)
    yield Mutation("node.meta =", "few", _chain, _set_meta)
    yield Mutation("replace_all_uses_with", "2 users", _two_users, _replace_shared)
    yield Mutation("replace_all_uses_with", "50 users", _fifty_users, _replace_shared)
    yield Mutation("replace_all_uses_with", "n users", _list, _replace_used)
    yield Mutation("replace_all_uses_with", "n users, asked", _list, _replace_admitted)


MUTATIONS = tuple(_mutations())
