"""`symbolic_trace`, and the names that programs import from FX's module of this name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from fxls.engine._lazy_graph_module import _make_graph_module
from fxls.engine.graph_module import GraphModule
from fxls.engine.late_names import late_names
from fxls.engine.tracing.concrete_args import (
    PH,
    ConcreteArgs,
    PHBase,
    PHWithMeta,
    _assert_is_none,
)
from fxls.engine.tracing.current import is_fx_symbolic_tracing, is_fx_tracing
from fxls.engine.tracing.proxyable import ProxyableClassMeta
from fxls.engine.tracing.tracer import Tracer
from fxls.engine.tracing.wrap import wrap

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "_assert_is_none",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]


def symbolic_trace(
    root: torch.nn.Module | Callable[..., Any],
    concrete_args: ConcreteArgs | None = None,
) -> GraphModule:
    """A module whose forward is generated from what `root` does.

    `concrete_args` fixes arguments to values, by name or for all in order: the branches
    that they decide are those of the result. `PH` keeps a value an input, and inside a
    list or dict only that one, which is then taken out of what the caller passes.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)


if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
