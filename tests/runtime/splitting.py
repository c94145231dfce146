"""By what fxls hears of the parts of a split module, in the torch that is installed."""

from __future__ import annotations

from typing import Any

from torch.fx.passes import split_module

__all__ = ["MAKES_PARTS", "OF_MODULE"]

_any: Any = split_module
_HAS_ITS_OWN = hasattr(_any, "_make_graph_module")

OF_MODULE = split_module.__name__ if _HAS_ITS_OWN else "torch.fx.graph_module"
MAKES_PARTS = "_make_graph_module" if _HAS_ITS_OWN else "GraphModule.__init__"
"""What makes the parts and the whole: torch 2.11 calls the class."""
