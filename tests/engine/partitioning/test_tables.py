"""What passes ask of nodes: what is supported, how large, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.passes import param_fetch
from fxls.engine.passes.tools_common import legalize_graph, stable_topological_sort
from tests.engine.partitioning.systems import System, alike, refused_alike, shown

X = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.again = self.linear

    def forward(self, x: Any, y: Any) -> Any:
        a = torch.add(self.linear(x), y, alpha=2)
        return a.relu(), torch.sub(y, 1), self.again(a.float())


def ran(system: System) -> Any:
    gm = system.trace(Net())
    system.passes("shape_prop").ShapeProp(gm).propagate(X, X.to(torch.float64))
    return gm


FLOAT, DOUBLE = [torch.float32], [torch.float64]


TABLES: list[Any] = [
    None,
    {"torch.add": None, "relu": None},
    {"torch.add": ((FLOAT,), {})},
    {"torch.add": ((FLOAT, FLOAT), {})},
    {"torch.add": ((None, DOUBLE, FLOAT), {"alpha": FLOAT, "out": FLOAT})},
    {"torch.nn.modules.linear.Linear": ((FLOAT,), {"bias": DOUBLE})},
    {"torch.sub": ((DOUBLE, FLOAT), {}), "relu": ((FLOAT,), {})},
]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_says_what_is_supported(table: Any) -> None:
    def case(system: System) -> Any:
        support = system.passes("operator_support")
        rule = support.OperatorSupport(table)
        gm = ran(system)
        modules = dict(gm.named_modules())
        return [rule.is_node_supported(modules, node) for node in gm.graph.nodes]

    alike(case)


def test_rules_are_put_together() -> None:
    def case(system: System) -> Any:
        support = system.passes("operator_support")
        make = support.create_op_support

        def is_call(_modules: Any, node: Any) -> bool:
            return node.op.startswith("call")

        calls = make(is_call)
        named = support.OpSupports.decline_if_node_in_names({"add", "relu"})
        single = support.OpSupports.decline_if_input_dtype(torch.float64)
        rules = [
            support.chain(calls, named),
            support.any_chain(calls, named),
            support.chain(),
            support.any_chain(),
            support.chain(calls, single),
        ]
        gm = ran(system)
        return [
            [rule.is_node_supported({}, node) for node in gm.graph.nodes if node.args]
            for rule in rules
        ]

    alike(case)


def test_dtypes_must_have_been_noted() -> None:
    def case(system: System) -> Any:
        support = system.passes("operator_support")
        rule = support.OpSupports.decline_if_input_dtype(torch.float32)
        nodes = list(system.trace(Net()).graph.nodes)
        return rule.is_node_supported({}, nodes[2])

    error = refused_alike(case)
    assert "run ShapeProp on the module first" in str(error)


def test_a_rule_is_a_class_with_one_method() -> None:
    refused_alike(
        lambda system: system.passes("operator_support").OperatorSupportBase()
    )


def test_what_a_node_calls_has_a_name() -> None:
    def case(system: System) -> Any:
        tools = system.passes("tools_common")
        gm = system.trace(Net())
        modules = dict(gm.named_modules())
        names = [
            tools.get_node_target(modules, node)
            for node in gm.graph.nodes
            if node.op in tools.CALLABLE_NODE_OPS
        ]
        others = (torch.nn.Linear, "as it is", torch.ops.aten.add.Tensor)
        return names, [tools.get_acc_ops_name(one) for one in others]

    alike(case)
    refused_alike(
        lambda system: system.passes("tools_common").get_node_target(
            {}, next(iter(system.trace(Net()).graph.nodes))
        )
    )


def test_whether_a_node_gives_a_tensor_is_known_once_it_ran() -> None:
    def case(system: System) -> Any:
        tools = system.passes("tools_common")
        nodes = [*ran(system).graph.nodes, *system.trace(Net()).graph.nodes]
        return [tools.is_node_output_tensor(node) for node in nodes]

    alike(case)


def test_nodes_that_hand_each_other_others_than_tensors_are_groups() -> None:
    def program(x: Any) -> Any:
        size = x.size(0)
        a = torch.relu(x)
        more = size + a.size(1)
        b = torch.neg(a)
        return torch.reshape(b, (more - size, -1)), b.size(0)

    def case(system: System) -> Any:
        gm = system.trace(program)
        system.passes("shape_prop").ShapeProp(gm).propagate(X)
        tools = system.passes("tools_common")
        found: list[Any] = []
        for left_out in ("", "sub", "size"):
            nodes = {
                node
                for node in gm.graph.nodes
                if node.op in tools.CALLABLE_NODE_OPS and node.name != left_out
            }
            groups = tools.FxNetAccFusionsFinder(gm, nodes)()
            named = {
                node.name: sorted(one.name for one in group)
                for node, group in groups.items()
            }
            found.append((dict(sorted(named.items())), sorted(n.name for n in nodes)))
        return found

    alike(case)


def shuffled(system: System) -> Any:
    gm = system.trace(Net())
    nodes = list(gm.graph.nodes)
    nodes[2].append(nodes[0])
    nodes[-2].append(nodes[3])
    return gm


@pytest.mark.parametrize("name", ["legalize_graph", "stable_topological_sort"])
def test_a_graph_is_put_in_order(name: str) -> None:
    def case(system: System) -> Any:
        gm = shuffled(system)
        made = getattr(system.passes("tools_common"), name)(gm)
        assert made is gm
        gm.graph.lint()
        return shown(gm)

    alike(case)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("legalize_graph", RuntimeError), ("stable_topological_sort", AssertionError)],
)
def test_a_graph_that_uses_itself_cannot_be_put_in_order(name: str, kind: Any) -> None:
    def case(system: System) -> Any:
        gm = system.trace(Net())
        add = next(node for node in gm.graph.nodes if node.name == "add")
        add.args = (add.args[0], next(iter(add.users)))
        return getattr(system.passes("tools_common"), name)(gm)

    error = refused_alike(case)
    assert type(error) is kind
    assert str(error) == (
        "the graph has cycles, in which these nodes are: [add, relu, float_1, linear_1, output]"
    )


def test_ordering_keeps_origins() -> None:
    for sort in (legalize_graph, stable_topological_sort):
        gm = symbolic_trace(Net())
        before = {node.name: node.origin for node in gm.graph.nodes}
        sort(gm)
        assert {node.name: node.origin for node in gm.graph.nodes} == before
        assert None not in before.values()


def test_nodes_get_another_target() -> None:
    def case(system: System) -> Any:
        gm = ran(system)
        manipulation = system.passes("graph_manipulation")
        manipulation.replace_target_nodes_with(
            gm, "call_function", torch.add, "call_function", torch.sub
        )
        manipulation.replace_target_nodes_with(
            gm, "call_method", "relu", "call_function", torch.neg
        )
        return shown(gm)

    alike(case)


def test_nodes_know_how_many_bytes_they_take() -> None:
    def case(system: System) -> Any:
        gm = system.trace(Net())
        manipulation = system.passes("graph_manipulation")
        manipulation.get_size_of_all_nodes(gm, [X, X])
        sizes = [node.size_bytes for node in gm.graph.nodes if node.op != "output"]
        return [tuple(size) for size in sizes]

    alike(case)


def test_sizes_need_shapes() -> None:
    def case(system: System) -> Any:
        gm = system.trace(Net())
        node = next(iter(gm.graph.nodes))
        return system.passes("graph_manipulation").get_size_of_node(gm, node)

    assert str(refused_alike(case)) == (
        "Node x has no tensor metadata: run ShapeProp on the module first"
    )


def test_well_known_modules_are_noted_beside_their_calls() -> None:
    program = nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )

    def case(system: System) -> Any:
        gm = system.trace(program[:5])
        system.passes("param_fetch").lift_lowering_attrs_to_nodes(gm)
        return [
            {name: str(value) for name, value in node.attrs_for_lowering.items()}
            for node in gm.graph.nodes
            if node.op == "call_module"
        ]

    alike(case)
    error = refused_alike(
        lambda system: system.passes("param_fetch").lift_lowering_attrs_to_nodes(
            system.trace(program)
        )
    )
    assert str(error) == (
        "torch.nn.modules.flatten.Flatten is not in the module_fetch_book, so what a"
        " backend needs of it is not known: add its class there"
    )


def test_a_module_newer_than_the_book_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    linear = nn.Linear(1, 1)
    monkeypatch.setattr(linear, "_version", 9, raising=False)
    refused_alike(
        lambda system: system.passes("param_fetch").extract_attrs_for_lowering(linear)
    )
    assert param_fetch.default_matching("weight", 3) == "weight"
