"""What a pass did is what a comparison says that knows nothing of how it is found out."""

from __future__ import annotations

import copy
import operator
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from fxls import engine
from fxls.runtime.passes.change import Change, change
from fxls.runtime.passes.graph_state import GraphState

any_torch: Any = torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.other = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a = self.linear(x) - y
        b = torch.relu(self.other(a)) * 2
        c = torch.cat([a, b, y], dim=0)
        return c[0:2] + c.sum(dim=1, keepdim=True)[0:2]


TRACED: dict[str, Callable[[], Any]] = {
    "torch.fx": lambda: any_torch.fx.symbolic_trace(Net()),
    "engine": lambda: engine.symbolic_trace(Net()),
}
each = pytest.mark.parametrize("made", TRACED.values(), ids=TRACED)


def node_of(module: Any, name: str) -> Any:
    return next(node for node in module.graph.nodes if node.name == name)


def other_than(one: Any) -> Callable[[Any], bool]:
    return lambda user: user is not one


def after(module: Any, edit: Callable[[Any], object]) -> Change:
    """What `edit` does to a graph module."""
    before = GraphState(module)
    assert before.still_holds(module)
    edit(module)
    found = change(before, GraphState(module))
    assert before.still_holds(module) is not bool(found)
    return found


def altered(**what: Any) -> Change:
    nothing: Any = {
        "created": (),
        "erased": (),
        "replaced": (),
        "altered": (),
        "moved": (),
        "made_from": {},
    }
    return Change(**(nothing | what))


@each
def test_what_changes_nothing_is_nothing(made: Callable[[], Any]) -> None:
    def look(module: Any) -> None:
        node = node_of(module, "sub")
        node.args = tuple(node.args)
        node.meta["seen"] = True
        module.graph.lint()
        module.recompile()

    assert after(made(), look) == altered()


@each
def test_arguments_that_are_swapped_alter_a_node(made: Callable[[], Any]) -> None:
    def swap(module: Any) -> None:
        node = node_of(module, "sub")
        node.args = node.args[::-1]

    assert after(made(), swap) == altered(altered=("sub",))


@each
def test_a_number_of_another_type_or_sign_alters_a_node(
    made: Callable[[], Any],
) -> None:
    module = made()
    for value in (2.0, 0.0, -0.0, 0, False):

        def put(module: Any, value: object = value) -> None:
            node = node_of(module, "mul")
            node.args = (node.args[0], value)

        assert after(module, put) == altered(altered=("mul",))


@each
def test_a_target_a_name_and_a_type_alter_a_node(made: Callable[[], Any]) -> None:
    def target(module: Any) -> None:
        node_of(module, "mul").target = vars(operator)["truediv"]

    def name(module: Any) -> None:
        node_of(module, "mul").name = "product"

    def kind(module: Any) -> None:
        node_of(module, "cat").type = torch.Tensor

    module = made()
    assert after(module, target) == altered(altered=("mul",))
    assert after(module, name) == altered(altered=("product",))
    assert after(module, kind) == altered(altered=("cat",))


@each
def test_one_node_that_moves_is_the_one_that_moved(made: Callable[[], Any]) -> None:
    def move(module: Any) -> None:
        node_of(module, "x").append(node_of(module, "y"))
        node_of(module, "getitem").prepend(node_of(module, "sum_1"))
        node_of(module, "getitem").prepend(node_of(module, "getitem_1"))

    found = after(made(), move)
    # x and y stand as they did; of three that go round, one is enough.
    assert found == altered(moved=("getitem",))


@each
def test_what_takes_the_place_of_others_is_made_from_them(
    made: Callable[[], Any],
) -> None:
    def fuse(module: Any) -> None:
        graph, mul, relu = module.graph, node_of(module, "mul"), node_of(module, "relu")
        with graph.inserting_after(mul):
            half = graph.call_function(torch.add, (relu.args[0], 1))
        with graph.inserting_after(half):
            whole = graph.call_function(torch.mul, (half, 2))
        mul.replace_all_uses_with(whole)
        graph.erase_node(mul)
        graph.erase_node(relu)

    assert after(made(), fuse) == altered(
        created=("add_1", "mul_1"),
        erased=("relu", "mul"),
        replaced=(("mul", "mul_1"),),
        altered=("cat",),
        made_from={"add_1": ("mul", "relu"), "mul_1": ("mul", "relu")},
    )


@each
def test_what_is_put_between_two_nodes_is_made_from_the_first(
    made: Callable[[], Any],
) -> None:
    def insert(module: Any) -> None:
        graph, mul = module.graph, node_of(module, "mul")
        with graph.inserting_after(mul):
            cast_ = graph.call_method("float", (mul,))
        mul.replace_all_uses_with(cast_, other_than(cast_))

    assert after(made(), insert) == altered(
        created=("float_1",), altered=("cat",), made_from={"float_1": ("mul",)}
    )


@each
def test_another_module_at_the_same_place_alters_the_node_that_calls_it(
    made: Callable[[], Any],
) -> None:
    def exchange(module: Any) -> None:
        module.other = torch.nn.Linear(3, 3)

    assert after(made(), exchange) == altered(altered=("other",))


@each
def test_a_copy_of_the_graph_is_the_same_graph(made: Callable[[], Any]) -> None:
    def replace(module: Any) -> None:
        module.graph = copy.deepcopy(module.graph)

    assert after(made(), replace) == altered()


@each
def test_a_copy_of_the_module_is_the_same_graph_while_its_submodules_are_equal(
    made: Callable[[], Any],
) -> None:
    module = made()
    before, copied = GraphState(module), copy.deepcopy(module)

    assert before.still_holds(copied)
    assert change(before, GraphState(copied)) == altered()
    torch.nn.init.zeros_(copied.other.bias)
    assert not before.still_holds(copied)
    assert change(before, GraphState(copied)) == altered(altered=("other",))
    copied.other = torch.nn.Linear(3, 3, bias=False)
    assert change(before, GraphState(copied)) == altered(altered=("other",))


def table(module: Any) -> list[tuple[Any, ...]]:
    """A graph as plain values, by name, as a person would write it down."""
    return [
        (n.name, n.op, str(n.target), repr(n.args), repr(n.kwargs), repr(n.type))
        for n in module.graph.nodes
    ]


def edit(module: Any, draw: random.Random) -> None:
    """A change, or none, such as passes make."""
    graph = module.graph
    nodes = [n for n in graph.nodes if n.op not in ("placeholder", "output")]
    if not nodes:
        return
    node = draw.choice(nodes)
    earlier = list(graph.nodes)[: list(graph.nodes).index(node)]
    match draw.randrange(7):
        case 0:
            node.args = tuple(node.args)
        case 1:
            with graph.inserting_after(node):
                new = graph.call_function(torch.neg, (node,))
            node.replace_all_uses_with(new, other_than(new))
        case 2:
            with graph.inserting_before(node):
                new = graph.call_function(torch.add, (draw.choice(earlier), 1))
            node.replace_all_uses_with(new)
            graph.erase_node(node)
        case 3:
            node.replace_all_uses_with(draw.choice(earlier))
            graph.erase_node(node)
        case 4:
            node.update_arg(0, draw.choice(earlier))
        case 5:
            inputs = set(node.all_input_nodes)
            before = node.prev
            if before not in inputs and before.op != "placeholder":
                before.prepend(node)
        case _:
            graph.eliminate_dead_code()


@each
@pytest.mark.parametrize("seed", range(40))
def test_over_many_edits_it_is_what_two_tables_say(
    made: Callable[[], Any], seed: int
) -> None:
    draw = random.Random(seed)
    module = made()
    for _ in range(12):
        state, old = GraphState(module), table(module)
        for _ in range(draw.randrange(4)):
            edit(module, draw)
        new = table(module)
        assert state.still_holds(module) == (old == new)
        found = change(state, GraphState(module))
        assert change(state, GraphState(module, state)) == found
        had, has = {row[0]: row for row in old}, {row[0]: row for row in new}
        assert found.created == tuple(n for n in has if n not in had)
        assert found.erased == tuple(n for n in had if n not in has)
        assert found.altered == tuple(n for n in has if n in had and had[n] != has[n])
        kept = [n for n in has if n in had and n not in found.moved]
        assert kept == [n for n in had if n in has and n not in found.moved]
        assert bool(found) == (old != new)
        for gone, there in found.replaced:
            assert gone not in has
            assert there in has
        assert {*swaps(old, new)} - {*found.replaced} == set()
        assert set(found.made_from) <= set(found.created)
        for names in found.made_from.values():
            assert {*names} <= had.keys()


def swaps(
    old: list[tuple[Any, ...]], new: list[tuple[Any, ...]]
) -> Iterator[tuple[str, str]]:
    """Each erased node with the word that a node which stayed says in its place."""
    there = {row[0]: row for row in new}
    gone = {row[0] for row in old} - there.keys()
    for name, *_, args, kwargs, _ in old:
        now = there.get(name)
        had = re.findall(r"[^\W\d]\w*", args + kwargs)
        has = [] if now is None else re.findall(r"[^\W\d]\w*", now[3] + now[4])
        if len(had) == len(has):
            both = zip(had, has, strict=True)
            yield from ((a, b) for a, b in both if a in gone)
