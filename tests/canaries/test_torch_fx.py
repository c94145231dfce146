"""What the hooks count on in torch.fx when they run."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
import torch.fx

fx: Any = torch.fx


def doubled(x: Any) -> Any:
    return x * 2


def test_exec_with_source_gets_the_text_of_the_module_that_is_recompiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = fx.symbolic_trace(doubled)
    own = fx.graph_module._exec_with_source
    seen: list[Any] = []

    def watched(src: str, *more: Any) -> None:
        seen.append((src, module._code))
        own(src, *more)

    monkeypatch.setattr(fx.graph_module, "_exec_with_source", watched)
    module.recompile()
    ((text, code),) = seen
    assert text is code, "the text is not the very _code of the module"


def test_the_code_defines_forward() -> None:
    space = dict(fx.symbolic_trace(doubled).graph.python_code("self").globals)
    fx.graph_module._exec_with_source("def forward(self): return 1", space)
    assert space["forward"](None) == 1


def test_a_wrapped_call_knows_the_class_and_its_call() -> None:
    module = fx.symbolic_trace(doubled)
    module(torch.ones(1))
    kind = cast("Any", type(module))
    call = kind._wrapped_call
    assert type(call) is fx.graph_module._WrappedCall
    assert (call.cls, call.cls_call) == (kind, None)
    assert callable(call._generate_error_message)


def test_a_graph_has_the_parts_that_a_snapshot_takes() -> None:
    graph = fx.symbolic_trace(doubled).graph
    assert graph._codegen is not None
    assert set(graph._graph_namespace._used_names) >= {"x", "mul"}
    assert isinstance(graph._graph_namespace._base_count, dict)
    for node in graph.nodes:
        assert node._args is node.args
        assert node._kwargs is node.kwargs


def test_a_line_of_a_node_is_known() -> None:
    module = fx.symbolic_trace(doubled)
    module.recompile()
    assert isinstance(module._lineno_map, dict)


def test_a_transformer_has_the_graph_that_it_makes() -> None:
    transformer = fx.Transformer(fx.symbolic_trace(doubled))
    assert isinstance(transformer.new_graph, fx.Graph)
    assert isinstance(transformer.tracer, fx.Tracer)
