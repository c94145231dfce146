# Graphs and their nodes are edited in every way, as passes do.
# pyright: reportUnknownMemberType=false
"""What is different between two graphs, judged by edits that are known."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
import torch

from fxls import engine as fx
from fxls.graph_diff import (
    Difference,
    GraphDiff,
    Moved,
    What,
    as_json,
    graph_diff,
    summary,
)
from fxls.listing import Listing, Tensor, Value
from fxls.runtime.listings.listing_text import listing_of
from tests.support import listings

BINARY = (torch.add, torch.mul, torch.sub, operator.sub, operator.add)
UNARY = (torch.relu, torch.sin, torch.neg, torch.tanh)


class Found(NamedTuple):
    """What a diff names, or the edits of a script."""

    created: set[str]
    erased: set[str]
    altered: set[str]
    moved: int

    @property
    def cost(self) -> int:
        return len(self.created) + len(self.erased) + len(self.altered) + self.moved


def found_in(diff: GraphDiff) -> Found:
    old, new = diff.old.nodes, diff.new.nodes
    return Found(
        {new[node].name for node in diff.created},
        {old[node].name for node in diff.erased},
        {new[one.new].name for one in diff.altered},
        len(diff.moved),
    )


def random_module(random: Random, size: int) -> fx.GraphModule:
    graph = fx.Graph()
    values = [graph.placeholder(f"x_{i}") for i in range(random.randint(1, 6))]
    for _ in range(size):
        near = values[-random.choice((2, 4, 30)) :]
        one, other = random.choice(near), random.choice(near)
        match random.randrange(4):
            case 0:
                made = graph.call_function(random.choice(UNARY), (one,))
            case 1:
                number = random.randint(1, 4)
                made = graph.call_function(random.choice(BINARY), (one, number))
            case 2:
                made = graph.call_method("clamp", (one,), {"min": random.randint(0, 2)})
            case _:
                made = graph.call_function(random.choice(BINARY), (one, other))
        values.append(made)
    graph.output(tuple(values[-2:]))
    return fx.GraphModule(torch.nn.Module(), graph)


class State(NamedTuple):
    """What every node was, by the node itself."""

    rows: dict[Any, tuple[object, ...]]

    @staticmethod
    def of(module: fx.GraphModule) -> State:
        return State(
            {
                node: (node.op, node.target, node.args, node.kwargs)
                for node in module.graph.nodes
            }
        )


def edits_between(before: State, names: dict[Any, str], after: State) -> Found:
    """What a script did, by the nodes that it did it to."""
    stayed = [node for node in after.rows if node in before.rows]
    places = {node: at for at, node in enumerate(before.rows)}
    longest: list[int] = []
    row = [places[node] for node in stayed]
    for at, place in enumerate(row):
        below = [longest[i] for i in range(at) if row[i] < place]
        longest.append(1 + max(below, default=0))
    return Found(
        {node.name for node in after.rows if node not in before.rows},
        {names[node] for node in before.rows if node not in after.rows},
        {node.name for node in stayed if before.rows[node] != after.rows[node]},
        len(row) - max(longest, default=0),
    )


def edited(module: fx.GraphModule, random: Random) -> None:
    """Do one thing to a graph."""
    graph = module.graph
    inner = [n for n in graph.nodes if n.op not in ("placeholder", "output")]
    random.choice(EDITS)(graph, random.choice(inner), random)


def erase(graph: fx.Graph, node: fx.Node, _random: Random) -> None:
    node.replace_all_uses_with(node.all_input_nodes[0])
    graph.erase_node(node)


def insert(graph: fx.Graph, node: fx.Node, random: Random) -> None:
    with graph.inserting_after(node):
        made = graph.call_function(random.choice((torch.cos, torch.exp)), (node,))
    for user in list(node.users):
        if user is not made and random.random() < 0.7:
            user.replace_input_with(node, made)


def swap(_graph: fx.Graph, node: fx.Node, _random: Random) -> None:
    if len(node.args) == 2:
        node.args = (node.args[1], node.args[0])


def retarget(_graph: fx.Graph, node: fx.Node, random: Random) -> None:
    if node.op == "call_function":
        node.target = random.choice(UNARY if len(node.args) == 1 else BINARY)


def other_constant(_graph: fx.Graph, node: fx.Node, random: Random) -> None:
    if node.kwargs:
        node.kwargs = {"min": random.randint(3, 9)}


def move(graph: fx.Graph, node: fx.Node, random: Random) -> None:
    nodes = list(graph.nodes)
    place = {one: at for at, one in enumerate(nodes)}
    first = max(place[one] for one in node.all_input_nodes)
    last = min((place[one] for one in node.users), default=len(nodes) - 1)
    if first + 1 < last:
        to = nodes[random.randrange(first + 1, last)]
        if to is not node:
            to.append(node) if place[to] > place[node] else to.prepend(node)


EDITS = (erase, insert, swap, retarget, other_constant, move)


def renamed(module: fx.GraphModule, random: Random) -> fx.GraphModule:
    """The same graph; every name is another node's, or a new one."""
    module = copy.deepcopy(module)
    nodes = [node for node in module.graph.nodes if node.op != "output"]
    names = [node.name for node in nodes]
    random.shuffle(names)
    if random.random() < 0.5:
        names = [f"v{at}" for at in range(len(names))]
    for node, name in zip(nodes, names, strict=True):
        node.name = name
        if node.op == "placeholder":
            node.target = name
    module.recompile()
    return module


def listed(module: fx.GraphModule) -> Listing:
    module.recompile()
    return listing_of(module)


@pytest.mark.parametrize("seeds", [range(at, at + 30) for at in range(0, 240, 30)])
def test_a_diff_names_the_nodes_that_a_script_edited_and_no_other(
    seeds: range,
) -> None:
    exact = 0
    for seed in seeds:
        random = Random(seed)
        module = random_module(random, random.randint(4, 60))
        before, old = State.of(module), listed(module)
        names = {node: node.name for node in module.graph.nodes}
        for _ in range(random.randint(1, 5)):
            edited(module, random)
        script = edits_between(before, names, State.of(module))
        found = found_in(graph_diff(old, listed(module)))
        # A script may do in several steps what takes fewer.
        assert found == script or found.cost < script.cost, (seed, found, script)
        exact += found == script
    assert exact >= 0.9 * len(seeds)


def test_with_other_names_an_edit_is_seen_as_what_it_is() -> None:
    as_small = 0
    for seed in range(50):
        random = Random(seed)
        module = random_module(random, random.randint(4, 60))
        before, old = State.of(module), listed(module)
        names = {node: node.name for node in module.graph.nodes}
        edited(module, random)
        script = edits_between(before, names, State.of(module))
        found = found_in(graph_diff(old, listed(renamed(module, random))))
        # Of a node that nobody reads, behind an edit, its name was all there was.
        assert found.cost <= script.cost + 2, (seed, found, script)
        as_small += found.cost <= script.cost
    assert as_small >= 45


def test_other_names_are_no_difference() -> None:
    for seed in range(30):
        random = Random(seed)
        module = random_module(random, random.randint(1, 80))
        diff = graph_diff(listed(module), listed(renamed(module, random)))
        assert not diff, (seed, found_in(diff))
        assert summary(diff) == "no difference"


HEAD = "import torch\n\ndef forward(self, x, y):\n"


def listing(*body: str, values: Mapping[str, Value] | None = None) -> Listing:
    text = HEAD + "".join(f"    {line}\n" for line in body)
    return listings.listing_of(text, values=values)


OLD = listing(
    "sin = torch.sin(x)",
    "cos = torch.cos(y)",
    "neg = torch.neg(x)",
    "sub = torch.sub(sin, cos)",
    "return (sub, neg)",
)


def test_a_swap_of_arguments_is_one_altered_node() -> None:
    new = listing(
        "sin = torch.sin(x)",
        "cos = torch.cos(y)",
        "neg = torch.neg(x)",
        "sub = torch.sub(cos, sin)",
        "return (sub, neg)",
    )
    diff = graph_diff(OLD, new)

    (altered,) = diff.altered
    assert found_in(diff) == Found(set(), set(), {"sub"}, 0)
    assert altered.differences == (Difference(What.ARGUMENTS, "sin, cos", "cos, sin"),)
    assert summary(diff) == "~1 node"


def test_a_node_that_moved_stands_before_another_one() -> None:
    new = listing(
        "neg_2 = torch.neg(x)",
        "sin = torch.sin(x)",
        "cos = torch.cos(y)",
        "sub = torch.sub(sin, cos)",
        "return (sub, neg_2)",
    )
    diff = graph_diff(OLD, new)

    assert diff.moved == (Moved(old=4, new=2, before=3),)
    assert found_in(diff) == Found(set(), set(), set(), 1)
    assert summary(diff) == "1 moved"


def test_an_argument_that_is_of_the_old_graph_alone_says_so() -> None:
    old = listing("sin = torch.sin(x)", "neg = torch.neg(sin)", "return neg")
    new = listing(
        "sin = torch.cos(y)", "abs_1 = torch.abs(sin)", "neg = torch.neg(abs_1)",
        "return neg",
    )  # fmt: skip
    (altered,) = graph_diff(old, new).altered

    assert altered.differences == (Difference(What.ARGUMENTS, "old sin", "abs_1"),)


def tensor(*shape: int | str, dtype: str = "torch.float32") -> Tensor:
    return Tensor(shape, dtype, "cpu")


def test_shapes_count_and_names_of_sizes_do_not() -> None:
    body = ("sin = torch.sin(x)", "neg = torch.neg(sin)", "return neg")
    values = {"x": tensor("s0", 4), "sin": tensor("s0", 4), "neg": tensor("s1", 8)}
    old = listing(*body, values=values)
    renumbered = {
        "x": tensor("s7", 4),
        "sin": tensor("s7", 4),
        "neg": tensor("s0", 8, dtype="torch.float16"),
    }
    other = graph_diff(old, listing(*body, values=renumbered))
    # Two sizes that became one are two shapes.
    became_one = {**renumbered, "neg": tensor("s7", 8)}
    one = graph_diff(old, listing(*body, values=became_one))

    assert [each.differences for each in other.altered] == [
        (Difference(What.DTYPE, "torch.float32", "torch.float16"),)
    ]
    assert [each.differences for each in one.altered] == [
        (Difference(What.SHAPE, "(s1, 8)", "(s7, 8)"),)
    ]
    assert (other.shapes, one.shapes) == (0, 1)
    assert summary(one) == "~1 node, 1 shape"


def test_what_nobody_knows_is_no_difference() -> None:
    body = ("sin = torch.sin(x)", "return sin")

    assert not graph_diff(listing(*body), listing(*body, values={"sin": tensor(3)}))


def test_nodes_of_one_expression_took_the_place_of_others() -> None:
    source = "def forward(self, x, y):\n    return torch.linalg(x)\n"
    of = {"/work/net.py": source}
    spot = ("/work/net.py", "torch.linalg(x)")
    text = HEAD + "    {}\n    return {}\n"
    old = listings.listing_of(
        text.format("linalg = torch.linalg(x)", "linalg"),
        sources=of, origins={"linalg": [spot]},
    )  # fmt: skip
    new = listings.listing_of(
        text.format("t = torch.t(x)\n    mm = torch.mm(t, y)", "mm"),
        sources=of, origins={"t": [spot], "mm": [spot]},
    )  # fmt: skip
    said = as_json(graph_diff(old, new))
    place = {
        "path": "/work/net.py",
        "function": "forward",
        "line": 2,
        "column": 12,
        "end_line": 2,
        "end_column": 27,
    }

    assert said == {
        "schema": 1,
        "same": False,
        "summary": {"created": 2, "erased": 1, "altered": 1, "moved": 0, "shapes": 0},
        "parameters": {"old": None, "new": None},
        "created": [
            {"name": "t", "opcode": "call_function", "target": "torch.t"}
            | {"line": 4, "place": place},
            {"name": "mm", "opcode": "call_function", "target": "torch.mm"}
            | {"line": 5, "place": place},
        ],
        "erased": [
            {"name": "linalg", "opcode": "call_function", "target": "torch.linalg"}
            | {"line": 4, "place": place}
        ],
        "altered": [
            {"old": "output", "new": "output", "line": 6}
            | {"differences": [{"what": "arguments", "old": "linalg", "new": "mm"}]}
        ],
        "moved": [],
        "replaced": [{"old": ["linalg"], "new": ["t", "mm"], "place": place}],
    }


def test_a_listing_that_reads_what_comes_later_is_compared_as_well() -> None:
    nodes = list(OLD.nodes)
    nodes[2], nodes[5] = nodes[5], nodes[2]
    broken = msgspec.structs.replace(OLD, nodes=tuple(nodes))
    twice = msgspec.structs.replace(
        OLD, nodes=(*OLD.nodes[:5], *(OLD.nodes[2:5] * 3), *OLD.nodes[5:])
    )

    for one in (broken, twice):
        assert not graph_diff(one, one)
        graph_diff(OLD, one)
        graph_diff(one, OLD)
