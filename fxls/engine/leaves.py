"""Tracing around submodules: they are called whole, and nothing in them is recorded."""

from __future__ import annotations

from typing import Any, cast

import torch

from fxls.engine.graph_module import GraphModule
from fxls.engine.lasting import lasting
from fxls.engine.tracing.concrete_args import ConcreteArgs
from fxls.engine.tracing.tracer import Tracer

__all__ = ["trace_around"]


def trace_around(
    root: torch.nn.Module,
    *leaves: str | type[torch.nn.Module],
    concrete_args: ConcreteArgs | None = None,
) -> GraphModule:
    """As `symbolic_trace`, where each of these submodules is one node.

    `leaves` are classes, names of classes, or paths as `get_submodule` takes them. One
    that the model does not have is a mistake: raises `ValueError`.
    """
    modules: dict[str, torch.nn.Module] = dict(cast("Any", root).named_modules())
    for leaf in leaves:
        if not any(_is(module, path, leaf) for path, module in modules.items()):
            name = leaf if isinstance(leaf, str) else leaf.__qualname__
            raise ValueError(f"{type(root).__name__} has no submodule {name}")
    tracer = _Around(leaves)
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__)


@lasting("fxls.engine", "_Around")
class _Around(Tracer):
    def __init__(self, leaves: tuple[str | type[torch.nn.Module], ...]) -> None:
        super().__init__()
        self._leaves = leaves

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        return any(
            _is(m, module_qualified_name, leaf) for leaf in self._leaves
        ) or super().is_leaf_module(m, module_qualified_name)


def _is(module: torch.nn.Module, path: str, leaf: str | type[torch.nn.Module]) -> bool:
    if not isinstance(leaf, str):
        return isinstance(module, leaf)
    return leaf in (path, type(module).__name__)
