"""What a transform says about the nodes it makes next, beside torch.fx's own."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx
import torch.fx.traceback
from torch._subclasses.fake_tensor import FakeTensorMode

from fxls.engine import traceback
from fxls.engine.graph import Graph
from fxls.engine.proxy import MetaProxy
from fxls.engine.tracing.tracer import Tracer


def _traced(tracer: Any, module: Any) -> Any:
    """A graph whose second node is made from a node with meta of its own."""
    source = (Graph() if module is traceback else torch.fx.Graph()).placeholder(
        "source"
    )
    source.meta.update(
        nn_module_stack={"a": ("a", int)}, source_fn_stack=[1], other=2, stack_trace="S"
    )

    def f(x: Any) -> Any:
        with module.set_current_meta(source):
            y = torch.relu(x)
        with module.annotate({"key": "value"}):
            return y + 1

    with module.preserve_node_meta():
        graph = tracer.trace(f)
    return [{**node.meta} for node in graph.nodes]


def test_nodes_get_the_meta_of_the_node_they_are_made_from() -> None:
    ours = _traced(Tracer(), traceback)
    theirs = _traced(torch.fx.Tracer(), torch.fx.traceback)

    for meta in [*ours, *theirs]:  # of a class of its own each
        meta["from_node"] = len(meta.get("from_node", ()))
    assert ours == theirs


def test_nothing_is_carried_outside_of_the_block() -> None:
    before = traceback.get_current_meta().copy()

    assert not traceback.has_preserved_node_meta()
    assert [{**node.meta} for node in Tracer().trace(torch.nn.ReLU()).nodes] == [{}] * 3
    assert traceback.get_current_meta() == before


def test_the_origin_is_that_of_the_node_it_is_made_from() -> None:
    def f(x: Any) -> Any:
        return torch.relu(x)

    source = list(Tracer().trace(f).nodes)[1]

    def again(x: Any) -> Any:
        with traceback.set_current_meta(source):
            return x.neg()

    with traceback.preserve_node_meta():
        node = list(Tracer().trace(again).nodes)[1]

    assert node.origin is not None
    assert node.origin == source.origin


def test_backward_steps_are_numbered() -> None:
    with traceback.preserve_node_meta():
        traceback.set_grad_fn_seq_nr(7)
        traceback.set_grad_fn_seq_nr(8)
        numbers = [node.meta["seq_nr"] for node in Tracer().trace(_same).nodes]
        traceback.reset_grad_fn_seq_nr()
        traceback.reset_grad_fn_seq_nr()
        left = traceback.get_current_meta()

    assert numbers == [8, 8]
    assert "in_grad_fn" not in left


def test_a_meta_proxy_runs_on_fake_values() -> None:
    mode = FakeTensorMode()
    graph = Graph()
    node = graph.placeholder("x")
    node.meta["val"] = mode.from_tensor(torch.ones(2, 3))
    x: Any = MetaProxy(node, fake_mode=mode)

    y: Any = torch.transpose(x, 0, 1)

    assert type(y) is MetaProxy
    assert y.node.meta["val"].shape == (3, 2)


def _same(x: Any) -> Any:
    return x
