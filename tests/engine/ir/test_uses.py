"""Who uses a node, and in which order, after one node takes the place of another."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pytest
import torch
import torch.fx

from fxls import engine


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


def _seen(fx: Any, seed: int) -> list[Any]:
    """What a random program of replacements leaves: arguments, and users in order."""
    random = Random(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder(name) for name in "ab"]
    for _ in range(12):
        args = tuple(_argument(random, nodes) for _ in range(random.randint(1, 3)))
        kwargs = {"k": _argument(random, nodes)} if random.random() < 0.4 else {}
        nodes.append(graph.call_function(torch.add, args, kwargs))
    graph.output(_argument(random, nodes))
    said: list[Any] = []
    for _ in range(12):
        old, new = random.choice(nodes), random.choice(nodes)
        admitted = {n.name for n in graph.nodes if random.random() < 0.7}
        match random.randint(0, 4):
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
    return said


@pytest.mark.parametrize("seed", range(150))
def test_users_and_arguments_are_those_of_torch_fx(seed: int) -> None:
    assert _seen(engine, seed) == _seen(torch.fx, seed)
