"""A module is split by numbers as torch.fx splits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch._C import _set_grad_enabled  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]  # what a graph records
from torch.amp.autocast_mode import (  # what a graph records
    _enter_autocast,  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]  # FX calls it
    _exit_autocast,  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]  # FX calls it
)

from tests.engine.partitioning.systems import (
    OURS,
    THEIRS,
    System,
    alike,
    known,
    refused_alike,
    shown,
)

X = torch.tensor([[-1.0, 2.0, 3.0, -4.0]])
Y = torch.tensor([[5.0, -6.0, -7.0, 8.0]])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.param = nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.register_buffer("shift", torch.ones(4))
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: Any, y: Any = None) -> Any:
        z = self.inner(x + self.param).clamp(min=0.0, max=1.0)
        w = self.inner[0](y).clamp(min=0.0, max=1.0)
        return z + w * self.shift, w


def taking_turns(count: int) -> Callable[[Any], int]:
    """The doc's policy: node by node to part 0, 1, 2, 0, 1 ..."""
    calls: list[Any] = []

    def number_of(node: Any) -> int:
        calls.append(node)
        return (len(calls) - 1) % count

    return number_of


def in_stretches(length: int) -> Callable[[Any], int]:
    calls: list[Any] = []

    def number_of(node: Any) -> int:
        calls.append(node)
        return (len(calls) - 1) // length

    return number_of


def split(system: System, program: Any, number_of: Any, **options: Any) -> Any:
    gm = system.trace(program)
    before = str(gm.graph)
    made = system.passes("split_module").split_module(gm, program, number_of, **options)
    made.graph.lint()
    assert str(gm.graph) == before
    return made


@pytest.mark.parametrize("length", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "options",
    known(
        "split_module",
        "split_module",
        [
            {},
            {"keep_original_order": True},
            {"keep_original_node_name": True},
            {"keep_original_input_name": False},
            {"partition_affix": "pp"},
            {"tuple_return": True},
            {"tuple_return": True, "keep_original_order": True, "partition_affix": "a"},
        ],
    ),
    ids=str,
)
def test_stretches_of_a_module_become_submodules(
    length: int, options: dict[str, Any]
) -> None:
    def case(system: System) -> Any:
        paths: dict[str, str] = {}
        made = split(system, Net(), in_stretches(length), qualname_map=paths, **options)
        names[system.package] = made.meta.get("partition_names")
        return shown(made), paths

    names: dict[str, set[str] | None] = {}
    alike(case)
    # Torch 2.11 and 2.12 do not note them.
    assert names["torch.fx"] in (names["fxls.engine"], None)


def test_the_split_module_computes_the_same() -> None:
    program = Net()
    made = split(OURS, program, in_stretches(2))
    for found, expected in zip(made(X, Y), program(X, Y), strict=True):
        assert torch.equal(found, expected)


def test_the_parts_know_where_their_nodes_came_from() -> None:
    made = split(OURS, Net(), in_stretches(2))
    (call,) = [node for node in made.graph.nodes if node.target == "submod_1"]
    expected = [n.origin for n in made.submod_1.graph.nodes if n.op.startswith("call")]
    assert set(call.origins) == set(expected)
    assert len(call.origins) == 2


def test_numbers_that_use_each_other_are_refused() -> None:
    def chain(x: Any) -> Any:
        return torch.neg(torch.relu(torch.neg(x)))

    error = refused_alike(lambda system: split(system, chain, taking_turns(2)))
    assert str(error) == (
        "cycle exists between partitions! These use each other's values, or those of"
        " parts that do: submod_0, submod_1"
    )


def test_a_module_that_reads_a_missing_attribute_is_refused() -> None:
    def case(system: System) -> Any:
        gm = system.trace(Net())
        del gm.param
        return system.passes("split_module").split_module(gm, gm, in_stretches(2))

    assert str(refused_alike(case)).startswith("Node target param not found!")


def test_a_graph_that_computes_nothing_is_split_into_nothing() -> None:
    def nothing(x: Any) -> Any:
        return x

    for keeps in (False, True):
        alike(
            lambda system, keeps=keeps: shown(
                split(system, nothing, in_stretches(1), keep_original_order=keeps)
            )
        )


def test_modules_that_are_read_are_in_the_part_itself() -> None:
    def case(system: System) -> Any:
        root = nn.Module()
        root.held = nn.ReLU()
        graph = system.fx.Graph()
        x = graph.placeholder("x")
        held = graph.get_attr("held")
        first = graph.call_function(torch.relu, (x,))
        second = graph.call_function(getattr, (held, "inplace"))
        graph.output((first, second))
        gm = system.fx.GraphModule(root, graph)
        made = system.passes("split_module").split_module(gm, gm, in_stretches(1))
        return shown(made)

    alike(case)


def with_modes(system: System) -> Any:
    graph = system.fx.Graph()
    x = graph.placeholder("x")
    enter = graph.call_function(_enter_autocast, ("cpu", torch.bfloat16, True, None))
    a = graph.call_function(torch.matmul, (x, x))
    graph.call_function(_set_grad_enabled, (False,))
    b = graph.call_function(torch.neg, (a,))
    c = graph.call_function(torch.matmul, (b, x))
    graph.call_function(_exit_autocast, (enter,))
    d = graph.call_function(torch.relu, (c,))
    graph.call_function(_set_grad_enabled, (True,))
    graph.output((d, graph.call_function(torch.sigmoid, (d,))))
    return system.fx.GraphModule(nn.Module(), graph)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 100])
def test_modes_are_switched_in_each_part_that_they_reach(length: int) -> None:
    def case(system: System) -> Any:
        gm = with_modes(system)
        numbers = {
            node: i // length
            for i, node in enumerate(n for n in gm.graph.nodes if n.op != "placeholder")
        }
        split_module = system.passes("split_module").split_module
        return shown(split_module(gm, gm, numbers.__getitem__))

    alike(case)


def test_modes_need_numbers_that_do_not_fall() -> None:
    def case(system: System) -> Any:
        gm = with_modes(system)
        names = [node.name for node in gm.graph.nodes]
        split_module = system.passes("split_module").split_module

        def falling(node: Any) -> int:
            return -names.index(node.name)

        return split_module(gm, gm, falling)

    assert str(refused_alike(case)) == (
        "autocast or set_grad_enabled require monotonically increasing partitions:"
        " matmul goes to part -2, behind part -1"
    )


def test_autocast_must_be_left() -> None:
    def case(system: System) -> Any:
        gm = with_modes(system)
        for node in gm.graph.nodes:
            if node.target is _exit_autocast:
                gm.graph.erase_node(node)
        return system.passes("split_module").split_module(gm, gm, in_stretches(100))

    assert str(refused_alike(case)).startswith("autocast must exit: %_enter_autocast")


def test_a_simple_split_calls_the_parts_in_the_order_of_their_first_nodes() -> None:
    def program(x: Any, y: Any) -> Any:
        a = torch.relu(x)
        b = torch.neg(y)
        return torch.add(a, b), torch.mul(b, a), a

    def case(system: System) -> Any:
        gm = system.trace(program)
        calls = [node for node in gm.graph.nodes if node.op == "call_function"]
        numbers = dict(zip(calls, [5, 3, 8, 8], strict=True))
        made = system.passes("split_module").split_module_simple(
            gm, numbers, partition_affix="part"
        )
        made.graph.lint()
        parts = {name: str(child.graph) for name, child in made.named_children()}
        result = [value.tolist() for value in made(X, Y)]
        return str(made.graph), made.code, parts, result

    found = case(OURS)
    assert found[3] == [value.tolist() for value in program(X, Y)]
    if hasattr(THEIRS.passes("split_module"), "split_module_simple"):
        assert found == case(THEIRS)


@pytest.mark.slow
def test_symbolic_sizes_go_along_with_the_tensors_that_have_them() -> None:
    def case(system: System) -> Any:
        captured: list[Any] = []

        def keep(gm: Any, _inputs: Any) -> Any:
            captured.append(gm)
            return gm.forward

        def program(x: Any) -> Any:
            return torch.relu(x).reshape(x.shape[0] * x.shape[1]) + 1

        compiler: Any = torch.compiler
        compiler.reset()
        torch_: Any = torch
        torch_.compile(program, backend=keep, dynamic=True)(torch.ones(3, 4))
        gm = captured[0]
        if system is OURS:
            from fxls.engine.torch_fx.bridge import from_torch_fx  # noqa: PLC0415 - one case

            gm = from_torch_fx(gm)
        split_module = system.passes("split_module").split_module
        made = split_module(gm, gm, in_stretches(2))
        return made.code, {n: child.code for n, child in made.named_children()}

    alike(case)


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=12
    ),
    st.lists(st.integers(0, 3), min_size=12, max_size=12),
    st.booleans(),
)
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@pytest.mark.slow
def test_random_splits_are_alike(
    edges: list[tuple[int, int]], numbers: list[int], keeps: bool
) -> None:
    def case(system: System) -> Any:
        graph = system.fx.Graph()
        values = [graph.placeholder("x"), graph.placeholder("y")]
        for first, second in edges:
            count = len(values)
            args = (values[first % count], values[second % count])
            values.append(graph.call_function(torch.add, args))
        graph.output((values[-1], values[edges[0][0] % len(values)]))
        gm = system.fx.GraphModule(nn.Module(), graph)
        number_of = dict(zip(values[2:], numbers, strict=False)).__getitem__
        try:
            made = system.passes("split_module").split_module(
                gm, gm, number_of, keep_original_order=keeps
            )
            made.graph.lint()
        except (RuntimeError, KeyError) as error:
            return type(error)
        return shown(made)

    alike(case)
