"""Tracing below autograd, which is torch's own; `make_fx` gives a graph of ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

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
        return from_torch_fx(capture(*inputs, **keywords))

    return captured


def __getattr__(name: str) -> Any:
    """Everything else is torch's."""
    return getattr(_theirs, name)
