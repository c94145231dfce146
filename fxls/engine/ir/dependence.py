"""Whether nodes can become one: what would depend on itself cannot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.users import users_of

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node import Node

__all__ = ["depends_on_itself", "is_ordered"]


def depends_on_itself(nodes: Iterable[Node], *, is_ordered: bool) -> bool:
    """Whether a path leads out of a set of nodes and back into it.

    In an ordered graph no path comes back from behind the last node of the set, so
    only what lies in between is searched.
    """
    inside = set(nodes)
    if not inside:
        return False
    last = max(inside)
    seen = {
        user
        for node in inside
        for user in users_of(node)
        if user not in inside and (not is_ordered or user < last)
    }
    waiting = list(seen)
    while waiting:
        for user in users_of(waiting.pop()):
            if user in inside:
                return True
            if user not in seen and (not is_ordered or user < last):
                seen.add(user)
                waiting.append(user)
    return False


def is_ordered(graph: Graph) -> bool:
    """Whether every node of a graph stands behind those that it uses."""
    for node in ordered(graph):
        users: Any = node._users
        key = node._sort_key
        if users is None:
            continue
        if type(users) is not dict:  # most nodes: without a loop and its calls
            if users._sort_key <= key:
                return False
        elif any(user._sort_key <= key for user in node.users):
            return False
    return True
