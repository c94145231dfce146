"""Functions that libraries wrapped for torch's own FX.

A library says ``torch.fx.wrap`` of its functions when it is imported, for whoever traces
it. Its users trace with this engine, so what it said holds here as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["wrapped_for_torch"]

_fx: Any = torch.fx
_tracing: Any = _fx._symbolic_trace
"""`import torch` has loaded it. It has no public way to ask what was wrapped."""


def wrapped_for_torch() -> Iterator[tuple[dict[str, Any], str]]:
    """Each global that was wrapped, as its namespace and its name."""
    wrapped: dict[tuple[int, str], dict[str, Any]]
    wrapped = getattr(_tracing, "_wrapped_fns_to_patch", {})
    for (_, name), namespace in list(wrapped.items()):
        yield namespace, name
