"""Where in a graph a value is needed for the last time.

A node knows its last user from when it was asked for until its users change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, cast

from fxls.engine.ir.arguments import ATOMS, EMPTY_KWARGS, references
from fxls.engine.ir.node import Node

__all__ = ["freed_by", "last_uses", "note_last_users"]


def note_last_users(nodes: Iterable[Node]) -> None:
    """Let each of these nodes know its last user; an unused one is its own."""
    for node in nodes:
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


def last_uses(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """Per node, those whose value no node behind it reads, as its arguments name them."""
    note_last_users(nodes)
    found: dict[Node, list[Node]] = {}
    for node in nodes:
        freed = freed_by(node)
        if node._last_user is node:
            freed.pop()
        if freed:
            found[node] = freed
    return found


_order: Any = attrgetter("_sort_key")
