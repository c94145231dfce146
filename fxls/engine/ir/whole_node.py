"""All that a node is in one look, for who asks every node of a graph."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

__all__ = ["whole_node"]

whole_node: Callable[[Any], tuple[Any, ...]] = attrgetter(
    *("_name", "_op", "_target", "_args", "_kwargs", "_type", "_meta", "_users")
)
"""Name, opcode, target, args, kwargs and type; the meta, or None while nobody read it;
and the users as the node keeps them. As properties they are a call each."""
