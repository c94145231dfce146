"""What a pass makes, erases and replaces is written down."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx
from torch.fx.passes.graph_transform_observer import (
    GraphTransformObserver as TorchObserver,
)

from fxls import engine as fx
from fxls.engine.passes.graph_transform_observer import GraphTransformObserver


def program(x: Any, y: Any) -> Any:
    return torch.relu(x) + torch.relu(y)


def relu_to_neg(gm: Any) -> str:
    for node in gm.graph.find_nodes(op="call_function", target=torch.relu):
        with gm.graph.inserting_after(node):
            neg = gm.graph.call_function(torch.neg, node.args)
        node.replace_all_uses_with(neg)
        gm.graph.erase_node(node)
    copy.deepcopy(gm)
    return "done"


def observed(kind: Any, module: Any, folder: Path) -> Any:
    """All that an observer notes of the pass."""
    number = kind.get_current_pass_count()
    observer = kind(module, "relu_to_neg", log_url=str(folder))
    result = observer.apply_gm_pass(relu_to_neg)
    sources = {
        node.name: [
            {**one.to_dict(), "graph_id": None}
            for one in node.meta.get("from_node", [])
        ]
        for node in module.graph.nodes
    }
    files = {
        file.name.replace(str(number + 1), "N"): file.read_text()
        for file in folder.iterdir()
    }
    hooks = module._create_node_hooks, module._erase_node_hooks, module._replace_hooks
    names = observer.created_nodes, observer.erased_nodes
    return result, names, sources, files, hooks, len(observer.copied_gms)


def test_notes_and_drawings_are_those_of_torch_fx(tmp_path: Path) -> None:
    traced: Any = torch.fx.symbolic_trace(program)
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()

    ours = observed(
        GraphTransformObserver, fx.symbolic_trace(program), tmp_path / "ours"
    )

    assert ours == observed(TorchObserver, traced, tmp_path / "theirs")
    assert ours[:2] == ("done", ({"neg", "neg_1"}, {"relu", "relu_1"}))
    assert len(ours[3]) == 2


def test_nothing_is_drawn_when_nothing_changed(tmp_path: Path) -> None:
    module = fx.symbolic_trace(program)
    observer = GraphTransformObserver(module, "nothing", log_url=str(tmp_path))

    assert observer.apply_graph_pass(lambda graph: len(graph.nodes)) == 6
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_observed() -> None:
    module = fx.symbolic_trace(program)
    observer = GraphTransformObserver(module, "quiet")

    assert observer.apply_gm_pass(relu_to_neg) == "done"
    assert not observer.active
    assert observer.created_nodes == set()


def test_hooks_may_be_used_on_their_own(tmp_path: Path) -> None:
    module = fx.symbolic_trace(program)
    observer = GraphTransformObserver(module, "own", log_url=str(tmp_path))
    relu = module.graph.find_nodes(op="call_function", target=torch.relu)[0]

    observer.get_node_creation_hook()(relu)
    observer.get_node_replace_hook()(next(iter(module.graph.nodes)), "relu", relu)
    assert [source.name for source in relu.meta["from_node"]] == ["x"]
    observer.get_node_erase_hook()(relu)
    observer.get_deepcopy_hook()(module)
    assert observer.created_nodes == observer.erased_nodes == {"relu"}
    assert observer.copied_gms == [module]


def test_hooks_are_gone_after_an_error(tmp_path: Path) -> None:
    def broken(gm: Any) -> None:
        relu_to_neg(gm)
        raise KeyError("no")

    module = fx.symbolic_trace(program)
    observer = GraphTransformObserver(module, "broken", log_url=str(tmp_path))
    with pytest.raises(KeyError):
        observer.apply_gm_pass(broken)

    assert module._create_node_hooks == []
    assert module._deepcopy_hooks == []
