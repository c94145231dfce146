"""The class that torch.fx has for modules whose forward is made when it is needed.

Every `GraphModule` of the engine is such a module; this class says so to programs that
ask for it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

from fxls.engine.graph_module import GraphModule, PendingForward

__all__ = [
    "_LazyGraphModule",
    "_force_skip_lazy_graph_module",
    "_get_graph_module_cls",
    "_make_graph_module",
    "_use_lazy_graph_module",
]


class _LazyGraphModule(GraphModule):
    """A `GraphModule` that tells whether its forward is made."""

    @classmethod
    def from_graphmodule(cls, gm: GraphModule) -> _LazyGraphModule:
        """The module itself, or one of this class with its graph."""
        return gm if isinstance(gm, _LazyGraphModule) else cls(gm, gm.graph)

    @staticmethod
    def force_recompile(gm: torch.nn.Module) -> None:
        """Make the forward, if a module is one of this class."""
        if isinstance(gm, _LazyGraphModule):
            gm.real_recompile()

    def real_recompile(self) -> None:
        """Make the forward, if it is not made."""
        if self._needs_recompile():
            _ = self.forward

    def _needs_recompile(self) -> bool:
        """Whether neither code nor forward are made."""
        is_pending = isinstance(type(self).__dict__.get("forward"), PendingForward)
        return is_pending and not self._forward_code.is_written


def _make_graph_module(
    *args: Any, graph_module_cls: type[GraphModule] | None = None, **kwargs: Any
) -> GraphModule:
    """A module of a class, or of the one that the innermost block says."""
    return (graph_module_cls or _get_graph_module_cls())(*args, **kwargs)


def _get_graph_module_cls() -> type[GraphModule]:
    """The class that the innermost block says."""
    return _LazyGraphModule if _is_used else GraphModule


@contextmanager
def _use_lazy_graph_module(should_use: bool) -> Generator[None]:  # noqa: FBT001 - FX's signature
    """Inside the block, `symbolic_trace` makes a `_LazyGraphModule`, or does not."""
    global _is_used  # noqa: PLW0603 - FX's functions are called without a module
    before = _is_used
    _is_used = should_use and not _is_skipped
    try:
        yield
    finally:
        _is_used = before


@contextmanager
def _force_skip_lazy_graph_module() -> Generator[None]:
    """Inside the block, `_use_lazy_graph_module` says that nothing is lazy."""
    global _is_skipped  # noqa: PLW0603 - FX's functions are called without a module
    before = _is_skipped
    _is_skipped = True
    try:
        yield
    finally:
        _is_skipped = before


_is_used = False
_is_skipped = False
