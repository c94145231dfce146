"""What is timed on the graph of a model: to trace, write, check, copy and run it."""

from __future__ import annotations

import copy
import importlib
import itertools
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks import models
from benchmarks.made_once import of_size
from benchmarks.measure import Prepare
from benchmarks.packages import Fx

__all__ = [
    "code_after_edit",
    "dce",
    "deepcopy",
    "deepcopy_and_run",
    "end_to_end",
    "fake_tensor_prop",
    "graph_copy",
    "graph_module",
    "interpret",
    "lint",
    "on_graph",
    "on_owned_graph",
    "passes",
    "print_readable",
    "print_tabular",
    "python_code",
    "recompile",
    "recompile_and_run",
    "replace_pattern",
    "shape_prop",
    "symbolic_trace",
    "there_and_back",
    "trace",
    "transform",
]


def trace(fx: Fx, model: nn.Module) -> Prepare:
    return lambda: lambda: fx.Tracer().trace(model)


def symbolic_trace(fx: Fx, model: nn.Module) -> Prepare:
    return lambda: lambda: fx.symbolic_trace(model)


def end_to_end(fx: Fx, model: nn.Module) -> Prepare:
    inputs = models.example(model)

    def run() -> Any:
        module = fx.symbolic_trace(model)
        _swap_activations(module.graph)
        module.graph.lint()
        module.recompile()
        return module(*inputs)

    return lambda: run


def _swap_activations(graph: Any) -> None:
    for node in graph.nodes:
        if node.op == "call_function" and node.target in (torch.relu, torch.tanh):
            with graph.inserting_after(node):
                new = graph.call_function(torch.sigmoid, node.args, node.kwargs)
            node.replace_all_uses_with(new)
            graph.erase_node(node)


def python_code(fx: Fx, model: nn.Module) -> Prepare:
    """On a graph that was never written."""

    def prepare() -> Callable[[], Any]:
        graph = fx.Tracer().trace(model)
        return lambda: graph.python_code("self")

    return prepare


def code_after_edit(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)
    graph.python_code("self")
    edit = _edit(graph)

    def run() -> Any:
        edit()
        return graph.python_code("self")

    return lambda: run


def _edit(graph: Any) -> Callable[[], None]:
    """Changes one node in the middle to and fro."""
    calls = [
        node for node in graph.nodes if node.op in ("call_function", "call_module")
    ]
    node = calls[len(calls) // 2]
    args = node.args

    def edit() -> None:
        node.args = args

    return edit


def graph_module(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)
    return lambda: lambda: fx.GraphModule(model, graph)


def recompile(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: module.recompile


def recompile_and_run(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)
    args = itertools.cycle(((1,), (2,)))
    node = next(node for node in module.graph.nodes if node.op == "placeholder")
    with module.graph.inserting_after(node):
        extra = module.graph.call_function(_same, (node, 0))

    def is_other(user: Any) -> bool:
        return user is not extra

    node.replace_all_uses_with(extra, is_other)

    def run() -> Any:
        extra.args = (node, *next(args))
        module.recompile()
        return module(*inputs)

    return lambda: run


def _same(value: Any, _number: int) -> Any:
    return value


def passes(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)

    def run() -> Any:
        for _ in range(20):
            _swap_activations(module.graph)
            module.graph.lint()
            module.recompile()
        return module(*inputs)

    return lambda: run


def on_graph(fx: Fx, model: nn.Module, run: Callable[[Any], Any]) -> Prepare:
    graph = fx.Tracer().trace(model)
    return lambda: lambda: run(graph)


def on_owned_graph(fx: Fx, model: nn.Module, run: Callable[[Any], Any]) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: run(module.graph)


def lint(graph: Any) -> None:
    graph.lint()


def dce(graph: Any) -> None:
    graph.eliminate_dead_code()


def print_readable(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: module.print_readable(print_output=False)


def print_tabular(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)

    def run() -> None:
        before, sys.stdout = sys.stdout, _Nowhere()
        try:
            graph.print_tabular()
        finally:
            sys.stdout = before

    return lambda: run


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def graph_copy(fx: Fx, model: nn.Module) -> Prepare:
    graph = fx.Tracer().trace(model)
    return lambda: lambda: fx.Graph().graph_copy(graph, {})


def deepcopy(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    module(*models.example(model))
    return lambda: lambda: copy.deepcopy(module)


def deepcopy_and_run(fx: Fx, model: nn.Module) -> Prepare:
    inputs = models.example(model)
    module = fx.symbolic_trace(model).eval()
    module(*inputs)
    return lambda: lambda: copy.deepcopy(module)(*inputs)


def there_and_back(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: pickle.loads(pickle.dumps(module))


def interpret(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    inputs = models.example(model)
    interpreter = fx.Interpreter(module)
    return lambda: lambda: interpreter.run(*inputs)


def transform(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model)
    return lambda: lambda: fx.Transformer(module).transform()


def shape_prop(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)
    shape_prop = _pass_of(fx, "shape_prop").ShapeProp
    return lambda: lambda: shape_prop(module).propagate(*inputs)


def fake_tensor_prop(fx: Fx, model: nn.Module) -> Prepare:
    module = fx.symbolic_trace(model).eval()
    inputs = models.example(model)
    prop = _pass_of(fx, "fake_tensor_prop").FakeTensorProp

    def run() -> Any:
        # Without this, torch.fx refuses a module whose parameters are real.
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        return prop(module, mode).propagate(*inputs)

    return lambda: run


def _pass_of(fx: ModuleType, name: str) -> Any:
    return importlib.import_module(f"{fx.__name__}.passes.{name}")


def replace_pattern(fx: Fx, nodes: int) -> Prepare:
    rewriter = importlib.import_module(f"{fx.__name__}.subgraph_rewriter")

    def pattern(x: Any) -> Any:
        return torch.relu(torch.neg(x))

    def replacement(x: Any) -> Any:
        return torch.abs(x)

    def prepare() -> Callable[[], Any]:
        module = fx.symbolic_trace(of_size(models.Patterned, nodes))
        return lambda: rewriter.replace_pattern(module, pattern, replacement)

    return prepare
