"""The values and errors that the API hands out have the parts that torch.fx's have."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch

from fxls import engine as fx

RECORDS = {
    "operator_schemas": ["ArgsKwargsPair"],
    "subgraph_rewriter": ["Match", "ReplacedPatterns"],
    "passes.infra.pass_base": ["PassResult"],
    "passes.shape_prop": ["TensorMetadata"],
    "passes.split_utils": ["Component"],
    "passes.splitter_base": ["SplitResult", "Subgraph"],
    "passes.tools_common": ["FxNetAccFusionsFinder.FusionGroup"],
    "passes.utils.matcher_utils": ["InternalMatch"],
    "passes.utils.source_matcher_utils": ["SourcePartition"],
}

ERRORS = {
    "passes.splitter_base": ["FxNetSplitterInternalError"],
    "passes.net_min_base": [
        "FxNetMinimizerBadModuleError",
        "FxNetMinimizerRunFuncError",
        "FxNetMinimizerResultMismatchError",
    ],
}

SYSTEMS = pytest.mark.parametrize("system", ["fxls.engine", "torch.fx"])


def found(system: str, path: str, name: str) -> Any:
    value: Any = importlib.import_module(f"{system}.{path}")
    for atom in name.split("."):
        value = getattr(value, atom)
    return value


def listed(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(path, name) for path, names in table.items() for name in names]


def parts(kind: Any) -> list[str]:
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return list(kind._fields)


@pytest.mark.parametrize(("path", "name"), listed(RECORDS))
def test_a_record_has_the_parts_of_the_one_in_torch_fx(path: str, name: str) -> None:
    ours = found("fxls.engine", path, name)

    assert parts(ours) == parts(found("torch.fx", path, name))


@pytest.mark.parametrize(("path", "name"), listed(ERRORS))
def test_an_error_is_of_the_same_kind(path: str, name: str) -> None:
    ours, theirs = found("fxls.engine", path, name), found("torch.fx", path, name)

    assert [c.__name__ for c in ours.__mro__] == [c.__name__ for c in theirs.__mro__]


class Model(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        first = torch.relu(x)
        return first.neg() + first


def traced(system: str) -> Any:
    return importlib.import_module(system).symbolic_trace(Model())


@SYSTEMS
def test_what_is_known_of_a_tensor_is_asked_for(system: str) -> None:
    ask = found(system, "passes.graph_manipulation", "get_tensor_meta")
    module = traced(system)
    node = next(iter(module.graph.nodes))

    with pytest.raises(RuntimeError, match="tensor metadata"):
        ask(node)
    found(system, "passes.shape_prop", "ShapeProp")(module).propagate(torch.ones(3))
    assert ask(node).shape == (3,)


@SYSTEMS
def test_an_event_names_the_nodes_it_is_about(system: str) -> None:
    event = found(system, "passes.splitter_base", "NodeEvent")
    x, relu, *_ = traced(system).graph.nodes

    assert event(relu, "kept").to_str() == "relu: kept #"
    assert event(relu, "dropped", x).to_str() == "relu: dropped x"


@SYSTEMS
def test_events_are_printed_and_written(
    system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = found(system, "passes.splitter_base", "NodeEventTracker")
    x, relu, *_ = traced(system).graph.nodes
    tracker = kind(1, str(tmp_path / "events"))
    tracker.add(relu, "kept", x)

    tracker.print_node("relu", recursive=False)
    assert "relu: kept x" in capsys.readouterr().out
    tracker.dump()
    assert "relu: kept x" in "".join(
        file.read_text() for file in tmp_path.iterdir() if file.is_file()
    )


@SYSTEMS
def test_a_holder_has_the_modules_it_is_given(system: str) -> None:
    holder = found(system, "passes.utils.common", "HolderModule")
    relu = torch.nn.ReLU()

    assert dict(holder({"part": relu}).named_children()) == {"part": relu}


@SYSTEMS
def test_a_part_is_put_in_and_what_it_stands_for_erased(system: str) -> None:
    module = traced(system)
    _, relu, neg, _, _ = module.graph.nodes
    engine = importlib.import_module(system)
    graph = engine.Graph()
    graph.output(graph.call_method("neg", (graph.placeholder("first"),)))
    part = engine.GraphModule({}, graph, "Part")

    insert = found(system, "passes.utils.fuser_utils", "insert_subgm")
    insert(module, part, (relu,), (neg,))
    found(system, "passes.utils.fuser_utils", "erase_nodes")(module, [neg])
    module.recompile()

    assert [node.name for node in module.graph.nodes] == [
        *("x", "relu", "part", "add", "output")
    ]
    assert module(torch.ones(1)).item() == 0


@SYSTEMS
def test_parts_are_proposed_and_fused_in_one_step(system: str) -> None:
    class Methods(found(system, "passes.operator_support", "OperatorSupport")):
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            return node.op == "call_method"

    partitioner = found(
        system, "passes.infra.partitioner", "CapabilityBasedPartitioner"
    )
    made = partitioner(
        traced(system), Methods(), allows_single_node_partition=True
    ).partition_and_fuse()

    assert [node.op for node in made.graph.nodes] == [
        *("placeholder", "call_function", "call_module", "call_function", "output")
    ]
    assert made(torch.ones(1)).item() == 0


@SYSTEMS
def test_what_lies_between_two_nodes_of_a_group_joins_it(system: str) -> None:
    module = traced(system)
    x, relu, neg, add, _ = module.graph.nodes
    finder = found(system, "passes.tools_common", "FxNetAccFusionsFinder")
    fusions = finder(module, {relu, neg, add})
    group = finder.FusionGroup(
        top_node_idx=fusions.nodes.index(relu),
        nodes={relu, add},
        inputs={neg},
        nodes_need_process=set(),
    )

    assert fusions.recursive_add_node(group, [neg, x])
    assert group.nodes == {relu, neg, add}
    assert group.nodes_need_process == {neg}


@SYSTEMS
def test_nodes_next_to_values_that_are_no_tensors_are_left_out(system: str) -> None:
    class Sizes(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(x).reshape(x.size(0) * 2, -1).neg()

    everything = found(system, "passes.operator_support", "OperatorSupportBase")

    class Tensors(everything):
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            return node.name not in self.left_out

        left_out: frozenset[str] = frozenset()

    module = importlib.import_module(system).symbolic_trace(Sizes())
    shapes = found(system, "passes.shape_prop", "ShapeProp")
    shapes(module).propagate(torch.ones(2, 4))
    finder = found(system, "passes.splitter_base", "FxNetAccNodesFinder")

    def accelerated(step: str, left_out: str) -> list[str]:
        support = Tensors()
        support.left_out = frozenset({left_out})
        one = finder(module, support, allow_non_tensor=True)
        one()
        if step:
            getattr(one, step)()
        return sorted(node.name for node in one.acc_nodes)

    assert accelerated("", "size") == ["mul", "neg", "relu", "reshape"]
    assert accelerated("reduce_acc_nodes_non_tensor_input", "size") == [
        *("neg", "relu")
    ]
    assert accelerated("", "reshape") == ["mul", "neg", "relu", "size"]
    assert accelerated("reduce_acc_nodes_non_tensor_output", "reshape") == [
        *("neg", "relu")
    ]


@SYSTEMS
def test_what_uses_a_node_that_is_left_out_is_left_out(system: str) -> None:
    module = traced(system)
    shapes = found(system, "passes.shape_prop", "ShapeProp")
    shapes(module).propagate(torch.ones(2))
    support = found(system, "passes.operator_support", "OperatorSupport")()
    finder = found(system, "passes.splitter_base", "FxNetAccNodesFinder")
    one = finder(module, support, allow_non_tensor=False)
    _, relu, neg, add, _ = module.graph.nodes
    one.acc_nodes = {neg, add}

    one.reduce_acc_nodes_non_tensor_input_helper([relu])

    assert one.acc_nodes == set()


def test_the_engine_is_what_is_tested_here() -> None:
    assert importlib.import_module("fxls.engine") is fx
