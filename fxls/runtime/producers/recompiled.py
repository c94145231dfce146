"""Who wants to know, in this thread, that a graph module was recompiled."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["on_recompile"]

on_recompile: ContextVar[Callable[[Any], None] | None] = ContextVar(
    "fxls_on_recompile", default=None
)
"""What is called with the module, once its code is that of its graph."""
