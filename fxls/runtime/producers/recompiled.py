"""Who wants to know that a graph module was recompiled, or is to be."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, cast

from fxls.runtime.hooks import Hook, around

__all__ = ["of_lazy_modules", "of_made_modules", "on_recompile"]

on_recompile: ContextVar[Callable[[Any], None] | None] = ContextVar(
    "fxls_on_recompile", default=None
)
"""What is called with the module, once its code is that of its graph; in this thread."""

_Watch = Callable[..., Generator[None, Any, Any]]


def of_lazy_modules(asked_for: _Watch) -> Hook:
    """Where the class of a module whose code is made at its first call is told that its
    graph changed.
    """
    return Hook(
        "torch.fx._lazy_graph_module",
        _LAZY,
        {"_LazyGraphModule.recompile": _for_class(around(asked_for, _LAZY))},
    )


def of_made_modules(*, made: _Watch, copied: _Watch) -> Hook:
    """Where a graph module is made, also as a copy."""
    return Hook(
        "torch.fx.graph_module",
        _MADE,
        {
            "GraphModule.__init__": around(made, _MADE),
            "GraphModule.__deepcopy__": around(copied, _MADE),
        },
    )


def _for_class(replacement: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What replaces a method of a class, of which each lazy module has one of its own."""

    def replaced(theirs: Any) -> Any:
        if isinstance(theirs, classmethod):
            return classmethod(replacement(cast("Any", theirs).__func__))
        return replacement(theirs)

    return replaced


_LAZY = "functions that change graph modules of AOTAutograd are no passes"
_MADE = "functions of a backend that make or copy graph modules are no passes"
