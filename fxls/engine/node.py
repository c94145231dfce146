"""The names that programs import from FX's module of this name; `ir.node` has the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxls.engine.ir.node import OPCODES, Argument, Node, Target, map_aggregate, map_arg
from fxls.engine.ir.purity import has_side_effect
from fxls.engine.late_names import late_names

__all__ = [
    "OPCODES",
    "Argument",
    "Node",
    "Target",
    "has_side_effect",
    "map_aggregate",
    "map_arg",
]

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
