"""Graphs of torch.fx that are handed in say which function takes them across."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from fxls import engine

_fx: Any = importlib.import_module("torch.fx")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + 1


def of(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"fxls.engine.passes.{module}"), name)


def relu(x: Any) -> Any:
    return torch.relu(x)


def negated(x: Any) -> Any:
    return -x


def part(_node: Any) -> int:
    return 0


def same(_theirs: object, _ours: object, _names: object) -> tuple[float, bool]:
    return 0.0, True


def fusing(name: str) -> Any:
    return of("utils.fuser_utils", name)


def tagged(gm: Any) -> Any:
    for node in gm.graph.nodes:
        node.tag = "a"
    return gm


def chosen(gm: Any) -> dict[Any, None]:
    return {node: None for node in gm.graph.nodes if node.op == "call_module"}


TAKERS: dict[str, Callable[[Any], object]] = {
    "Interpreter": lambda gm: engine.Interpreter(gm).run(torch.ones(1, 2)),
    "ShapeProp": lambda gm: of("shape_prop", "ShapeProp")(gm).propagate(torch.ones(2)),
    "Transformer": lambda gm: engine.Transformer(gm).transform(),
    "GraphModule": lambda gm: engine.GraphModule(gm, gm.graph),
    "graph_copy": lambda gm: engine.Graph().graph_copy(gm.graph, {}),
    "replace_pattern": lambda gm: engine.replace_pattern(gm, relu, negated),
    "split_module": lambda gm: of("split_module", "split_module")(gm, None, part),
    "split_by_tags": lambda gm: of("split_utils", "split_by_tags")(tagged(gm), ["a"]),
    "legalize_graph": lambda gm: of("tools_common", "legalize_graph")(gm),
    "stable_topological_sort": lambda gm: of("tools_common", "stable_topological_sort")(
        gm
    ),
    "fuse_by_partitions": lambda gm: fusing("fuse_by_partitions")(gm, [chosen(gm)]),
    "fuse_as_graphmodule": lambda gm: fusing("fuse_as_graphmodule")(
        gm, list(chosen(gm)), "Fused"
    ),
    "CapabilityBasedPartitioner": lambda gm: of(
        "infra.partitioner", "CapabilityBasedPartitioner"
    )(gm, of("operator_support", "OperatorSupport")()).propose_partitions(),
    "replace_target_nodes_with": lambda gm: of(
        "graph_manipulation", "replace_target_nodes_with"
    )(gm, "call_function", torch.relu, "call_function", torch.sigmoid),
    "FakeTensorProp": lambda gm: of("fake_tensor_prop", "FakeTensorProp")(gm).propagate(
        torch.ones(1, 2)
    ),
    "reinplace": lambda gm: of("reinplace", "reinplace")(gm, torch.ones(1, 2)),
    "splitter": lambda gm: of("splitter_base", "_SplitterBase")(
        gm,
        [torch.ones(1, 2)],
        of("operator_support", "OperatorSupport")(),
        of("splitter_base", "_SplitterSettingBase")(),
    ),
    "minimizer": lambda gm: of("net_min_base", "_MinimizerBase")(
        gm,
        [torch.ones(1, 2)],
        same,
        of("net_min_base", "_MinimizerSettingBase")(),
    ),
    "insert_deferred_runtime_asserts": lambda gm: of(
        "runtime_assert", "insert_deferred_runtime_asserts"
    )(gm, ShapeEnv(), "graph"),
    "CSEPass": lambda gm: of("dialect.common.cse_pass", "CSEPass")()(gm),
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_a_graph_of_torch_fx_is_told_how_it_crosses(
    take: Callable[[Any], object],
) -> None:
    theirs = _fx.symbolic_trace(Model())

    with pytest.raises(TypeError, match=r"fxls\.engine\.from_torch_fx\(module\)"):
        take(theirs)

    take(engine.from_torch_fx(theirs))


def test_a_node_of_torch_fx_is_no_argument_of_ours() -> None:
    theirs = _fx.symbolic_trace(Model())
    graph = engine.Graph()
    graph.output(graph.call_function(torch.relu, (next(iter(theirs.graph.nodes)),)))

    with pytest.raises(TypeError, match=r"^this Node is of torch\.fx"):
        _ = engine.GraphModule({}, graph).code


def test_each_side_says_of_the_others_that_they_are_not_its_own() -> None:
    theirs, ours = _fx.symbolic_trace(Model()), engine.symbolic_trace(Model())

    assert not isinstance(ours, _fx.GraphModule)
    assert not isinstance(next(iter(ours.graph.nodes)), _fx.Node)
    assert not isinstance(theirs, engine.GraphModule)
    assert not isinstance(next(iter(theirs.graph.nodes)), engine.Node)
    assert isinstance(engine.to_torch_fx(ours), _fx.GraphModule)
    assert isinstance(engine.from_torch_fx(theirs), engine.GraphModule)
