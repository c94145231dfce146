"""What is used of torch's insides, which to a type checker are objects like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch

__all__ = ["compile_id", "fx", "is_compiling", "is_dynamo_compiling"]

fx: Any = torch.fx
"""``import torch`` has loaded it."""

is_dynamo_compiling: Callable[[], bool] = cast(
    "Any", torch
).compiler.is_dynamo_compiling
"""Whether torch.compile traces this code, and does not run it."""

_context: Any = cast("Any", torch)._guards.CompileContext


def is_compiling() -> bool:
    """Whether torch.compile works in this thread."""
    return _context.try_get() is not None


def compile_id() -> str:
    """Torch's name of the compilation, as ``1/0``; ``None`` outside of any."""
    return str(_context.current_compile_id())
