"""Nodes say which pass made them and from which node, as in torch.fx."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx
from torch.fx import traceback as torch_traceback

from fxls import engine as fx
from fxls.engine import traceback


class Model(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.relu(x) + 1


def twice_transformed(system: Any) -> Any:
    module = system.symbolic_trace(torch.nn.Sequential(Model()))
    return system.Transformer(system.Transformer(module).transform()).transform()


def without_ids(source: Any) -> Any:
    inner = [without_ids(one) for one in source["from_node"]]
    return {**source, "graph_id": None, "from_node": inner}


def test_a_transformed_node_names_those_it_is_made_from() -> None:
    def told(module: Any, tracebacks: Any) -> Any:
        table = tracebacks.get_graph_provenance_json(module.graph)
        return {
            name: [without_ids(one) for one in sources]
            for name, sources in table.items()
        }

    ours = told(twice_transformed(fx), traceback)

    assert ours == told(twice_transformed(torch.fx), torch_traceback)
    (source,) = ours["relu"]
    assert source["pass_name"] == "Interpreter_Transformer"
    assert source["from_node"][0]["name"] == "relu"


def sources(tracebacks: Any, system: Any) -> Any:
    node = next(iter(system.symbolic_trace(Model()).graph.nodes))
    action = tracebacks.NodeSourceAction
    first = tracebacks.NodeSource(node, "one", action.CREATE)
    node.meta["from_node"] = [first]
    return tracebacks.NodeSource(node, "two", [action.REPLACE, action.CREATE])


def test_a_source_reads_as_in_torch_fx() -> None:
    ours, theirs = sources(traceback, fx), sources(torch_traceback, torch.fx)

    assert without_ids(ours.to_dict()) == without_ids(theirs.to_dict())
    number, other = str(ours.graph_id), str(theirs.graph_id)
    assert repr(ours).replace(number, "") == repr(theirs).replace(other, "")


def test_a_source_knows_the_node_as_it_was() -> None:
    node = next(iter(fx.symbolic_trace(Model()).graph.nodes))
    source = traceback.NodeSource(node)
    expected = traceback.NodeSource.NodeInfo("x", "x", id(node.graph))
    node.name = "renamed"

    assert source.node_info == expected
    assert (source.name, source.target, source.graph_id) == expected


def test_a_source_comes_back_from_plain_values() -> None:
    source = sources(traceback, fx)
    back = traceback.NodeSource._from_dict(source.to_dict())

    assert back == source
    assert hash(back) == hash(source)
    assert back != traceback.NodeSource(None, "two")
    assert traceback.NodeSource._from_dict(None) is None
    with pytest.raises(AssertionError, match="NodeSourceAction"):
        traceback.NodeSource(None, "", ["create"])  # pyright: ignore[reportArgumentType]  # refused


def test_a_function_annotates_all_it_makes() -> None:
    said: list[Any] = []

    @traceback.annotate_fn({"stage": 1})
    def inside(x: int) -> int:
        said.append(dict(traceback.get_current_meta()["custom"]))
        return x + 1

    with traceback.annotate({"outer": True}):
        assert inside(1) == 2

    assert said == [{"outer": True, "stage": 1}]
    assert "custom" not in traceback.get_current_meta()


def test_the_node_that_is_run_again_is_known_inside_the_block() -> None:
    node = next(iter(fx.symbolic_trace(Model()).graph.nodes))

    with traceback.set_current_replay_node(node):
        assert traceback.get_current_replay_node() is node
        with traceback.set_current_replay_node(None):
            assert traceback.get_current_replay_node() is None
        assert traceback.get_current_replay_node() is node
    assert traceback.get_current_replay_node() is None


def test_an_empty_stack_clears_the_one_before() -> None:
    with traceback.preserve_node_meta():
        traceback.set_stack_trace(["here"])
        assert traceback.format_stack() == ["here"]
        traceback.set_stack_trace([])
        assert traceback.format_stack() == [""]


def test_the_parts_of_a_source_can_be_assigned_and_extended() -> None:
    def edited(tracebacks: Any, system: Any) -> Any:
        source = sources(tracebacks, system)
        (first,) = source.from_node
        first.from_node.append(tracebacks.NodeSource(None, "older"))
        first.action.append(tracebacks.NodeSourceAction.REPLACE)
        source.from_node = [first, first]
        source.action = []
        source.node_info = None
        return without_ids(source.to_dict())

    assert edited(traceback, fx) == edited(torch_traceback, torch.fx)
