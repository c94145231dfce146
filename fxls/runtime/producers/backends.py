"""What is known of a backend of torch.compile: its name, and whether it comes with torch."""

from __future__ import annotations

from typing import Any

__all__ = ["is_torchs", "name_of_backend"]


def is_torchs(compiler: Any) -> bool:
    """Whether a backend comes with torch, and what it makes is its own business."""
    module = getattr(_innermost(compiler), "__module__", "") or ""
    return module.partition(".")[0] in ("torch", "functools", "fxls")


def name_of_backend(compiler: Any) -> str:
    """The name of a backend, or of its class."""
    inner = _innermost(compiler)
    return getattr(inner, "__name__", type(inner).__name__)


def _innermost(compiler: Any) -> Any:
    """What torch has wrapped."""
    while (inner := getattr(compiler, "compiler_fn", None)) is not None:
        compiler = inner
    return compiler
