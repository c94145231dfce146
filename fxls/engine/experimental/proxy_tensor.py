"""Tracing below autograd, which is torch's own; `make_fx` gives a graph of ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fxls.engine._lazy_graph_module import _get_graph_module_cls, _LazyGraphModule
from fxls.engine.graph_module import GraphModule
from fxls.engine.torch_fx.bridge import from_torch_fx
from fxls.engine.torch_fx.lent import theirs

__all__ = ["make_fx"]

_theirs: Any = theirs(__name__)


@functools.wraps(_theirs.make_fx)
def make_fx(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """A function of example inputs that gives the module of what `f` does with them."""
    capture = _theirs.make_fx(f, *args, **kwargs)

    @functools.wraps(f)
    def captured(*inputs: Any, **keywords: Any) -> GraphModule:
        module = from_torch_fx(capture(*inputs, **keywords))
        is_lazy = _get_graph_module_cls() is _LazyGraphModule
        return _LazyGraphModule.from_graphmodule(module) if is_lazy else module

    return captured


def __getattr__(name: str) -> Any:
    """Everything else is torch's."""
    return getattr(_theirs, name)
