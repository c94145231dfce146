"""Graph modules as pickles: their attributes and their graph; the code is made again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxls.engine.ir import serialization
from fxls.engine.lasting import lasting

if TYPE_CHECKING:
    from fxls.engine.graph_module import GraphModule

__all__ = ["blank_module", "reduce_module"]


def reduce_module(module: GraphModule) -> tuple[Any, ...]:
    """What pickle writes for a graph module."""
    kind = next(c for c in type(module).__mro__ if "_is_of_one" not in c.__dict__)
    state = {
        key: module.__dict__[key] for key in module.__dict__ if key != "_forward_code"
    }
    return blank_module, (serialization.FORMAT, kind, type(module).__name__), state


@lasting("fxls.engine", "_blank_module")
def blank_module(version: int, kind: type[GraphModule], class_name: str) -> GraphModule:
    """A module without its state: what an unpickled one starts as."""
    serialization.require_format(version)
    module = kind.__new__(kind)
    type(module).__name__ = class_name
    return module
