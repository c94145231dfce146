"""Where in a graph a value is needed for the last time.

A node knows its last user from when it was asked for until its users change.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from fxls.engine.ir.arguments import ATOMS, EMPTY_KWARGS, references
from fxls.engine.ir.node import Node
from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.users import forget_last_user, users_of

if TYPE_CHECKING:
    from fxls.engine.graph import Graph

__all__ = ["freed_by", "last_uses", "note_last_users"]


def note_last_users(graph: Graph) -> None:
    """Let each node know its last user; an unused one is its own.

    A node whose line is out of date has none then.
    """
    _settle(graph._touched)
    for node in ordered(graph):
        if node._last_user is not None:
            continue
        users = node._users
        if not users:
            last = node
        elif isinstance(users, Node):
            last = users
        else:
            last = max(users, key=_order)
        node._last_user = last
        last._line = None


def freed_by(node: Node) -> list[Node]:
    """The nodes whose last user this is, in the order of its arguments; then itself.

    After `note_last_users`.
    """
    freed: list[Node] = []
    args = node._args
    if node._kwargs:
        args = (*args, *node._kwargs.values())
    for a in args:
        if type(a) is Node:
            if a._last_user is node and a not in freed:
                freed.append(a)
        elif type(a) not in ATOMS:
            for used in cast("list[Node]", references((a,), EMPTY_KWARGS)):
                if used._last_user is node and used not in freed:
                    freed.append(used)
    if node._last_user is node:
        freed.append(node)
    return freed


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Per node, those whose value no node behind it reads, as its arguments name them."""
    note_last_users(graph)
    found: dict[Node, list[Node]] = {}
    for node in ordered(graph):
        freed = freed_by(node)
        if node._last_user is node:
            freed.pop()
        if freed:
            found[node] = freed
    return found


def _settle(touched: dict[Node, None]) -> None:
    """Drop what moves and new names made untrue.

    It is done here, so that these take no longer for a node with many neighbours.
    """
    for node in touched:
        node._line = None
        for used in node.all_input_nodes:
            forget_last_user(used)
        for user in users_of(node):
            user._line = None
    touched.clear()


_order: Any = attrgetter("_sort_key")
