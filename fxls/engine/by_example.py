"""`trace_by_example`: for models whose Python code asks for sizes, which FX refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from fxls.engine._lazy_graph_module import _make_graph_module
from fxls.engine.graph_module import GraphModule
from fxls.engine.torch_private import pytree
from fxls.engine.tracing.by_example import ExampleTracer

__all__ = ["ExampleTracer", "trace_by_example"]


def trace_by_example(
    root: torch.nn.Module | Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
) -> GraphModule:
    """A module whose forward is generated from what ``root(*args, **kwargs)`` does.

    Tensors and numbers stay inputs; what else the call gives, or leaves to a default,
    is fixed as `symbolic_trace` fixes ``concrete_args``. Where the program asks for a
    size, the result asserts that it is the one of the examples; where nobody asks, it
    takes other sizes. Raises TypeError for arguments that do not fit, and TraceError for
    a branch on what is in a tensor.
    """
    forward = root.forward if isinstance(root, torch.nn.Module) else root
    signature = inspect.signature(forward)
    bound = signature.bind(*args, **(kwargs or {}))
    bound.apply_defaults()
    fixed = {
        name: value
        for name, value in bound.arguments.items()
        if signature.parameters[name].kind not in _REST
        and not any(map(_stays_open, pytree.tree_leaves(value)))
    }
    tracer = ExampleTracer(bound.arguments)
    graph = tracer.trace(root, fixed)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)


_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _stays_open(value: object) -> bool:
    is_number = isinstance(value, int | float | complex) and not isinstance(value, bool)
    return is_number or isinstance(value, torch.Tensor)
