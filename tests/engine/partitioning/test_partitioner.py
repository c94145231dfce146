"""Supported nodes are put into parts, and parts are fused, as torch.fx does it."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.passes.utils import fuser_utils
from tests.engine.partitioning.systems import (
    OURS,
    THEIRS,
    System,
    alike,
    known,
    refused_alike,
    shown,
)

KEEPS_ORDER = hasattr(THEIRS.passes("utils.fuser_utils"), "heapq")
"""Whether torch.fx, like ours, leaves nodes in their order where their uses allow it."""

X = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])


def supporting(system: System, names: set[str]) -> Any:
    """The rule that calls of some functions are supported."""
    support = system.passes("operator_support")

    def is_named(_modules: Any, node: Any) -> bool:
        return node.op == "call_function" and node.target.__name__ in names

    return support.create_op_support(is_named)


def partitioned(system: System, gm: Any, names: set[str], **options: Any) -> Any:
    partitioner = system.passes("infra.partitioner").CapabilityBasedPartitioner(
        gm, supporting(system, names), **options
    )
    proposed = partitioner.propose_partitions()
    parts = [(part.id, [node.name for node in part.nodes]) for part in proposed]
    return parts, shown(partitioner.fuse_partitions(proposed))


def diamond(x: Any, y: Any) -> Any:
    a = torch.add(x, y)
    b = torch.relu(a)
    c = torch.sigmoid(a)
    d = torch.add(b, c)
    return torch.add(torch.relu(d), torch.tanh(y))


@pytest.mark.parametrize(
    "names", [{"add"}, {"add", "relu"}, {"sigmoid", "tanh"}, {"relu", "add", "sigmoid"}]
)
@pytest.mark.parametrize(
    "options",
    known(
        "infra.partitioner",
        "CapabilityBasedPartitioner",
        [
            {},
            {"allows_single_node_partition": True},
            {"skip_horizontal_fusion": True},
            {"allows_single_node_partition": True, "skip_horizontal_fusion": True},
            {"non_compute_ops": ["torch.relu"]},
            {"allowed_single_node_partition_ops": ["torch.sigmoid", "torch.add"]},
        ],
    ),
    ids=str,
)
def test_parts_are_as_large_as_they_can_be(
    names: set[str], options: dict[str, Any]
) -> None:
    alike(lambda system: partitioned(system, system.trace(diamond), names, **options))


def test_what_takes_a_tuple_apart_is_where_the_tuple_is() -> None:
    alike(lambda system: partitioned(system, _unpacking(system), {"relu", "split"}))
    alike(
        lambda system: partitioned(
            system,
            _unpacking(system),
            {"relu", "add", "getitem"},
            allows_single_node_partition=True,
        )
    )


def _unpacking(system: System) -> Any:
    graph = system.fx.Graph()
    x = graph.placeholder("x")
    pair = graph.call_function(torch.split, (graph.call_function(torch.relu, (x,)), 1))
    taken = [graph.call_function(operator.getitem, (pair, i)) for i in (0, 1)]
    graph.output(graph.call_function(torch.add, tuple(taken)))
    return system.fx.GraphModule(nn.Module(), graph)


def test_what_computes_nothing_is_taken_off_the_border() -> None:
    def program(x: Any) -> Any:
        a = torch.add(torch.neg(torch.neg(x)), 1)
        b = torch.neg(torch.add(torch.neg(a), 2))
        return torch.neg(torch.neg(b))

    def case(system: System) -> Any:
        gm = system.trace(program)
        partitioner = system.passes("infra.partitioner").CapabilityBasedPartitioner(
            gm, supporting(system, {"add", "neg"}), non_compute_ops=["torch.neg"]
        )
        parts = partitioner.propose_partitions()
        partitioner.remove_bookend_non_compute_ops(parts)
        return [[node.name for node in part.nodes] for part in parts]

    assert alike(case) == [["add", "neg_2", "add_1"]]


def test_a_partition_is_made_of_nodes_and_their_places() -> None:
    def case(system: System) -> Any:
        kind = system.passes("infra.partitioner").Partition
        x, y = list(system.trace(diamond).graph.nodes)[:2]
        empty, plain, placed = kind(), kind(1, [x]), kind(2, [x, y], [1, 0])
        plain.add_node(y, 5)
        placed.remove_node(x)
        parts = (empty, plain, placed)
        return [(part.id, part.size(), str(part)) for part in parts]

    alike(case)
    refused_alike(
        lambda system: system.passes("infra.partitioner").Partition(1, [1, 2], [3])
    )


def test_fused_modules_compute_the_same_and_keep_members() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            self.scale = nn.Parameter(torch.tensor([2.0]))

        def forward(self, x: Any) -> Any:
            return self.inner(x) * self.scale + self.inner[1](x)

    program = Net()

    def fused(system: System) -> Any:
        gm = system.trace(program)
        nodes = [
            node for node in gm.graph.nodes if node.op in ("call_module", "get_attr")
        ]
        fuser = system.passes("utils.fuser_utils")
        made = fuser.fuse_by_partitions(gm, [dict.fromkeys(nodes)], "part_")
        return shown(made) if KEEPS_ORDER else None, made(X).tolist()

    assert alike(fused)[1] == program(X).tolist()


def test_parts_that_stand_apart_in_the_graph_are_put_in_order_at_the_end() -> None:
    def program(x: Any, y: Any) -> Any:
        a = torch.relu(x)
        early = torch.neg(a)
        b = torch.relu(y)
        late = torch.tanh(b)
        return early, late, torch.sigmoid(early)

    def case(system: System) -> Any:
        gm = system.trace(program)
        nodes = {node.name: node for node in gm.graph.nodes}
        parts = [
            dict.fromkeys([nodes["relu"], nodes["relu_1"]]),
            dict.fromkeys([nodes["neg"], nodes["sigmoid"]]),
        ]
        fuser = system.passes("utils.fuser_utils")
        made = fuser.fuse_by_partitions(gm, parts, "p", always_return_tuple=True)
        return shown(made), [value.tolist() for value in made(X, X + 1)]

    alike(case)


def test_a_part_that_uses_itself_is_refused_and_nothing_is_changed() -> None:
    def program(x: Any) -> Any:
        a = torch.relu(x)
        return torch.add(torch.neg(a), a), torch.tanh(x)

    def parts(gm: Any) -> Any:
        nodes = {node.name: node for node in gm.graph.nodes}
        return [{nodes["tanh"]: 0}, {nodes["relu"]: 0, nodes["add"]: 1}]

    def case(system: System) -> Any:
        gm = system.trace(program)
        return system.passes("utils.fuser_utils").fuse_by_partitions(gm, parts(gm))

    refused_alike(case)
    gm = symbolic_trace(program)
    before = (shown(gm), gm.graph)
    with pytest.raises(AssertionError, match="partition 1 cannot be fused"):
        fuser_utils.fuse_by_partitions(gm, parts(gm))
    assert (shown(gm), gm.graph) == before


def test_nodes_of_another_module_are_refused() -> None:
    def case(system: System) -> Any:
        gm, other = system.trace(diamond), system.trace(diamond)
        nodes = [node for node in other.graph.nodes if node.op == "call_function"]
        fuser = system.passes("utils.fuser_utils")
        return fuser.fuse_as_graphmodule(gm, nodes, "part")

    refused_alike(case)


def test_a_fused_call_comes_from_all_nodes_that_it_is_made_of() -> None:
    gm = symbolic_trace(diamond)
    nodes = [node for node in gm.graph.nodes if node.op == "call_function"][:3]
    expected = {node.origin for node in nodes}
    fuser_utils.fuse_by_partitions(gm, [dict.fromkeys(nodes)])
    (call,) = [node for node in gm.graph.nodes if node.op == "call_module"]
    assert set(call.origins) == expected


def test_nodes_are_put_in_order() -> None:
    def case(system: System) -> Any:
        gm = system.trace(diamond)
        nodes = [node for node in gm.graph.nodes if node.op == "call_function"]
        shuffled = [nodes[i] for i in (3, 0, 5, 2, 1, 4)]
        fuser = system.passes("utils.fuser_utils")
        names = [node.name for node in fuser.topo_sort(shuffled)]
        return (
            names if KEEPS_ORDER or system is OURS else IN_ORDER,
            fuser.validate_partition(nodes[:2]),
            fuser.validate_partition([nodes[0], nodes[3]]),
        )

    assert alike(case) == (IN_ORDER, True, False)


IN_ORDER = ["add", "tanh", "sigmoid", "relu", "add_1", "relu_1"]


@pytest.mark.slow
def test_ten_thousand_nodes_are_partitioned() -> None:
    def program(x: Any) -> Any:
        for i in range(5000):
            x = torch.relu(torch.add(x, 1)) if i % 100 else torch.sigmoid(x)
        return x

    gm = symbolic_trace(program)
    (parts, made) = partitioned(System(None, "fxls.engine"), gm, {"relu", "add"})
    assert len(parts) == 50
    assert len(made["children"]) == 50


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2)),
        min_size=2,
        max_size=16,
    ),
    st.booleans(),
    st.booleans(),
)
@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@pytest.mark.slow
def test_random_graphs_are_partitioned_alike(
    edges: list[tuple[int, int, int]], skips: bool, singles: bool
) -> None:
    functions = (torch.add, torch.mul, torch.sub)

    def case(system: System) -> Any:
        graph = system.fx.Graph()
        values = [graph.placeholder("x"), graph.placeholder("y")]
        for first, second, which in edges:
            count = len(values)
            # Recent values more often: long chains with skips.
            args = (values[-1 - first % min(count, 4)], values[second % count])
            values.append(graph.call_function(functions[which], args))
        graph.output(tuple(values[-2:]))
        gm = system.fx.GraphModule(nn.Module(), graph)
        return partitioned(
            system,
            gm,
            {"add", "mul"},
            skip_horizontal_fusion=skips,
            allows_single_node_partition=singles,
        )

    alike(case)
