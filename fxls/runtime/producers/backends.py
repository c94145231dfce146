"""What is known of a backend of torch.compile: its name, and whether it comes with torch."""

from __future__ import annotations

import functools
import inspect
from typing import Any, cast

__all__ = ["is_torchs", "name_of_backend", "name_of_compiler"]


def is_torchs(compiler: Any) -> bool:
    """Whether a backend comes with torch, and what it makes is its own business.

    One that `torch._dynamo.backends.common.aot_autograd` made is of whoever made the
    compilers that it was given.
    """
    inner = _innermost(compiler)
    module = getattr(inner, "__module__", "") or ""
    if module.partition(".")[0] not in ("torch", "functools", "fxls"):
        return False
    given: Any = getattr(inner, "kwargs", None)
    known = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return all(is_torchs(known[name]) for name in _COMPILERS if known.get(name))


def name_of_backend(compiler: Any) -> str:
    """The name of a backend, or of its class."""
    inner = _innermost(compiler)
    return getattr(inner, "__name__", type(inner).__name__)


def name_of_compiler(compiler: Any) -> str:
    """The name of what compiles a graph behind AOTAutograd."""
    while (inner := _wrapped(compiler)) is not None:
        compiler = inner
    return getattr(compiler, "__name__", type(compiler).__name__)


def _wrapped(compiler: Any) -> Any:
    """What a function is around, as far as that can be told; or None."""
    inner = getattr(compiler, "__wrapped__", None) or getattr(compiler, "func", None)
    if inner is None and inspect.isfunction(compiler):
        # So torch wraps the one for the backward.
        inner = inspect.getclosurevars(compiler).nonlocals.get("bw_compiler_fn")
    return inner


def _innermost(compiler: Any) -> Any:
    """What torch, or `functools.partial`, has wrapped."""
    while True:
        if isinstance(compiler, functools.partial):
            compiler = cast("Any", compiler).func
        elif (inner := getattr(compiler, "compiler_fn", None)) is not None:
            compiler = inner
        else:
            return compiler


_COMPILERS = ("fw_compiler", "bw_compiler", "inference_compiler")
"""Of the two halves of a graph, and of one that is not divided."""
