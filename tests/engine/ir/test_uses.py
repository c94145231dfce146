"""Who uses a node, and in which order, after one node takes the place of another."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import pytest
import torch
import torch.fx

from fxls import engine
from fxls.installed_torch import is_at_least


class Pair(NamedTuple):
    first: Any
    second: Any


KINDS = ("node", "atom", "list", "tuple", "dict", "slice", "pair")


def _argument(random: Random, nodes: list[Any], depth: int = 2) -> Any:
    kind = random.choice(KINDS if depth else KINDS[:2])

    def inside() -> Any:
        return _argument(random, nodes, depth - 1)

    match kind:
        case "node":
            return random.choice(nodes)
        case "atom":
            return random.choice([1, 2.5, None, torch.float32])
        case "list":
            return [inside() for _ in range(random.randint(0, 3))]
        case "tuple":
            return tuple(inside() for _ in range(random.randint(0, 3)))
        case "dict":
            return {"a": inside(), "b": inside()}
        case "slice":
            return slice(random.choice(nodes), None, random.choice([None, 2]))
        case _:
            return Pair(inside(), inside())


def _seen(fx: Any, seed: int) -> list[Any]:  # noqa: C901 - one case for each edit
    """What a random program of replacements leaves: arguments, and users in order."""
    random = Random(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder(name) for name in "ab"]
    if seed % 4 == 0:  # programs have nodes of classes of their own
        nodes[0].__class__ = type("OwnNode", (fx.Node,), {})
    for _ in range(12):
        args = tuple(_argument(random, nodes) for _ in range(random.randint(1, 3)))
        kwargs = {"k": _argument(random, nodes)} if random.random() < 0.4 else {}
        nodes.append(graph.call_function(torch.add, args, kwargs))
    graph.output(_argument(random, nodes))
    said: list[Any] = []
    for _ in range(12):
        old, new = random.choice(nodes), random.choice(nodes)
        admitted = {n.name for n in graph.nodes if random.random() < 0.7}
        match random.randint(0, 9):
            case 5:
                random.choice(nodes).prepend(random.choice(nodes[2:]))
            case 6:
                random.choice(nodes).append(random.choice(nodes[2:]))
            case 7:
                said.append(_erased(graph, random.choice(nodes[2:])))
            case 8:
                random.choice(nodes[2:]).update_kwarg("k", _argument(random, nodes))
            case 9:
                many = [random.choice(nodes) for _ in range(40)]
                random.choice(nodes[2:]).args = (many, *many[:20])
            case 0:
                said.append(str(old.replace_all_uses_with(new)))
            case 1:

                def admits(user: Any, names: set[str] = admitted) -> bool:
                    return user.name in names

                said.append(str(old.replace_all_uses_with(new, admits)))
            case 2:
                random.choice(nodes).replace_input_with(old, new)
            case 3:
                random.choice(nodes[2:]).args = (_argument(random, nodes),)
            case _:
                random.choice(nodes[2:]).kwargs = {"k": _argument(random, nodes)}
        said += [
            (str(n), repr(n.args), repr(n.kwargs), str(list(n.users)))
            for n in graph.nodes
        ]
        nodes = [*nodes[:2], *(n for n in graph.nodes if n in nodes[2:])]
    return said


def _seen_by_many(fx: Any, seed: int) -> list[Any]:
    """What a random program leaves that replaces nodes which up to 60 others use."""
    random = Random(seed)
    graph = fx.Graph()
    used = [graph.placeholder(name) for name in "abc"]
    if seed % 4 == 0:
        used[0].__class__ = type("OwnNode", (fx.Node,), {})
    for _ in range(60):
        args = tuple(_argument(random, used) for _ in range(random.randint(0, 3)))
        kwargs = {"k": _argument(random, used)} if random.random() < 0.4 else {}
        graph.call_function(torch.add, args, kwargs)
    nodes = list(graph.nodes)
    said: list[Any] = []
    for _ in range(6):
        old, new = random.choice(used), random.choice([*used, random.choice(nodes)])
        admitted = set(random.sample(range(63), random.choice([63, 63, 50])))

        def admits(user: Any, numbers: set[int] = admitted) -> bool:
            return nodes.index(user) in numbers

        if random.random() < 0.5:
            said.append(str(old.replace_all_uses_with(new)))
        else:
            said.append(str(old.replace_all_uses_with(new, admits)))
        said += [
            (str(n), repr(n.args), repr(n.kwargs), str(list(n.users))) for n in nodes
        ]
    return said


def _seen_of_many(fx: Any, seed: int) -> list[Any]:
    """What a random program leaves that changes a few of many arguments at a time."""
    random = Random(seed)
    graph = fx.Graph()
    used = [graph.placeholder(f"x{i}") for i in range(40)]
    if seed % 4 == 0:
        used[0].__class__ = type("OwnNode", (fx.Node,), {})
    users = [graph.call_function(torch.cat, (used[:30],)) for _ in range(3)]
    graph.output(users[-1])
    said: list[Any] = []
    for _ in range(12):
        user = random.choice(users)
        many = [*_many(user)]
        for _ in range(random.randint(0, 3)):
            _change(random, many, used)
        _give(random, user, many, used)
        said += [
            (str(n), repr(n.args), repr(n.kwargs), str(list(n.users)))
            for n in graph.nodes
        ]
        if type(used[0]) is fx.Node:  # our code does not free those of other classes
            said.append(_FREED.sub(_sorted, graph.python_code("self").src))
    return said


def _change(random: Random, many: list[Any], used: list[Any]) -> None:
    at = random.randrange(len(many))
    new = random.choice([1, [random.choice(used)], *used[:20]])
    match random.randint(0, 5):
        case 0:
            many[at] = new
        case 1:
            many.insert(at, new)
        case 2 if len(many) > 1:
            del many[at]
        case 3:
            many.append(new)
        case 4:
            many.reverse()
        case _:
            random.shuffle(many)


def _give(random: Random, user: Any, many: list[Any], used: list[Any]) -> None:
    match random.randint(0, 5):
        case 0:
            user.args, user.kwargs = (many, random.choice(used)), {}
        case 1:
            user.args, user.kwargs = tuple(many), {}
        case 2:
            user.args, user.kwargs = (), {"tensors": many}
        case 3:
            user.kwargs = {f"k{i}": one for i, one in enumerate(many)}
        case 4:
            user.args = (random.choice([0, used[-1]]),)
            user.update_arg(0, many)
        case _:
            user.args = (0, *many, many)
            user.insert_arg(random.randint(0, 20), random.choice(used))


def _many(user: Any) -> Any:
    """The longest of what a node has arguments in."""
    holders = [user.args, user.kwargs.values(), *user.args, *user.kwargs.values()]
    return max((one for one in holders if hasattr(one, "__len__")), key=len)


def _erased(graph: Any, node: Any) -> object:
    try:
        graph.erase_node(node)
    except RuntimeError:
        return "used"
    return repr(node.args)


def _is_output(user: Any) -> bool:
    return user.op == "output"


def _written(fx: Any, seed: int) -> list[str]:
    """The code after each edit of a random program of moves, names and replacements."""
    random = Random(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder(name) for name in "ab"]
    for _ in range(10):
        nodes.append(graph.call_function(torch.add, tuple(random.choices(nodes, k=2))))
    graph.output(nodes[-1])
    said: list[str] = []
    for turn in range(12):
        for _ in range(random.randint(1, 3)):
            node, other, one, two = random.sample(nodes[2:], k=4)
            match random.randint(0, 5):
                case 0:
                    node.prepend(other)
                case 1:
                    node.append(other)
                case 2:
                    node.name = f"renamed_{turn}"
                case 3:
                    node.replace_all_uses_with(other, _is_output)
                case 4:
                    node.args = ([other, one, two, nodes[0]],)
                case _:
                    node.update_arg(0, one)
        if ARGUMENTS_AFTER or _is_in_order(graph):
            said.append(_FREED.sub(_sorted, graph.python_code("self").src))
    return said


ARGUMENTS_AFTER = not is_at_least(torch.__version__, "2.14")
"""Whether torch.fx names a node before its arguments, as ours does: where names clash
in a graph that is out of order, they are others otherwise."""


def _is_in_order(graph: Any) -> bool:
    seen: set[Any] = set()
    for node in graph.nodes:
        seen.add(node)
        if not seen.issuperset(node.all_input_nodes):
            return False
    return True


_FREED = re.compile(r";  ((?:\w+ = )+)None")


def _sorted(freed: re.Match[str]) -> str:
    """Names that are freed, in an order that does not depend on earlier edits."""
    return ";  " + "".join(sorted(freed[1].split(" = "))) + "None"


@pytest.mark.parametrize("seed", range(150))
def test_users_and_arguments_are_those_of_torch_fx(seed: int) -> None:
    assert _seen(engine, seed) == _seen(torch.fx, seed)


@pytest.mark.parametrize("seed", range(60))
def test_what_many_nodes_use_is_replaced_as_by_torch_fx(seed: int) -> None:
    assert _seen_by_many(engine, seed) == _seen_by_many(torch.fx, seed)


@pytest.mark.parametrize("seed", range(80))
def test_what_stays_among_many_arguments_is_told_as_by_torch_fx(seed: int) -> None:
    assert _seen_of_many(engine, seed) == _seen_of_many(torch.fx, seed)


_BEFORE: dict[str, Callable[[list[Any]], list[Any]]] = {
    "nodes": lambda rows: rows[:20],
    "one of them in a list": lambda rows: [rows[:2], *rows[2:21]],
    "one of them a number": lambda rows: [3, *rows[:19]],
    "one of them twice": lambda rows: [rows[0], *rows[:19]],
}
_AFTER: dict[str, Callable[[list[Any]], list[Any]]] = {
    "turned around": lambda given: given[::-1],
    "turned in the middle": lambda given: [given[0], *given[18:0:-1], given[19]],
    "one of them twice": lambda given: [*given[:0:-1], given[1]],
    "one of them a number": lambda given: [*given[:10:-1], 3, *given[9::-1]],
    "without a list": lambda given: [*_flat(given)][:-21:-1],
}


def _flat(given: list[Any]) -> Iterator[Any]:
    for a in given:
        yield from a if isinstance(a, list) else [a]


@pytest.mark.parametrize("keywords", [False, True])
@pytest.mark.parametrize("after", _AFTER)
@pytest.mark.parametrize("before", _BEFORE)
def test_many_nodes_that_change_places_are_told_as_by_torch_fx(
    before: str, after: str, *, keywords: bool
) -> None:
    def users(fx: Any) -> list[tuple[str, list[str]]]:
        graph = fx.Graph()
        x = graph.placeholder("x")
        rows = [graph.call_function(torch.relu, (x,)) for _ in range(22)]
        given = _BEFORE[before](rows)
        kwargs = {"other": rows[21]} if keywords else {}
        cat = graph.call_function(torch.cat, (given,), kwargs)
        cat.args = (
            [rows[21], *_AFTER[after](given)[1:]] if keywords else _AFTER[after](given),
        )
        return [(node.name, [user.name for user in node.users]) for node in graph.nodes]

    assert users(engine) == users(torch.fx)


@pytest.mark.parametrize("calls", [3, 17, 18, 40])
def test_who_stops_to_use_a_node_when_asked_does_not_use_the_new_one(
    calls: int,
) -> None:
    graph = engine.Graph()
    x, y, z = map(graph.placeholder, "xyz")
    for _ in range(calls):
        graph.call_function(torch.relu, (x,))
    first, second, *others = x.users

    def admits(user: engine.Node) -> bool:
        if user is second:
            first.args = (z,)
        return user is not others[-1]

    x.replace_all_uses_with(y, admits)
    assert list(x.users) == [others[-1]]
    assert list(y.users) == [second, *others[:-1]]
    assert (first.args, list(z.users)) == ((z,), [first])


@pytest.mark.parametrize("seed", range(40))
def test_code_that_is_written_after_every_edit_is_that_of_torch_fx(seed: int) -> None:
    assert _written(engine, seed) == _written(torch.fx, seed)


def test_a_move_takes_as_long_for_a_node_with_many_arguments() -> None:
    graph = engine.Graph()
    x = graph.placeholder("x")
    rows = [graph.call_function(torch.relu, (x,)) for _ in range(100)]
    cat = graph.call_function(torch.cat, (rows,))
    graph.output(cat)
    graph.python_code("self")
    # Not one line for each of the arguments.
    assert _reads(rows[0].prepend, cat) < 50
    code = graph.python_code("self").src
    assert code.index(" cat = ") < code.index(" relu = ")


def _reads(move: Any, node: Any) -> int:
    """How many lines of Python a move runs."""
    lines = 0

    def count(_frame: Any, event: str, _arg: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        move(node)
    finally:
        sys.settrace(before)
    return lines
