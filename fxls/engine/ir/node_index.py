"""The nodes of a graph by what they do: where `Graph.find_nodes` looks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = ["NodeIndex"]

_Key: TypeAlias = tuple[str, Any]
"""The opcode, and for a call_function the target."""


class NodeIndex:
    """Made by the first search in a graph, and kept true by its edits."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        """`nodes` are in the order of their graph."""
        self._nodes: dict[_Key, dict[Node, None]] = {}
        for node in nodes:
            self._nodes.setdefault(_key(node), {})[node] = None
        self._in_order = set(self._nodes)
        """The keys whose nodes are in the order of the graph."""
        self._lists: dict[_Key, list[Node]] = {}
        """What was found: to copy a list takes a third of listing a dict."""

    def find(self, op: str, target: Any, *, sort: bool) -> list[Node]:
        """The nodes of a key; `sort` puts them in the order of the graph."""
        key = (op, target if op == "call_function" else None)
        nodes = self._nodes.get(key)
        if nodes is None:
            return []
        if sort and key not in self._in_order:
            nodes = self._nodes[key] = dict.fromkeys(sorted(nodes, key=_order))
            self._in_order.add(key)
            self._lists.pop(key, None)
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = list(nodes)
        if op == "call_function" or target is None:
            return found.copy()
        return [node for node in found if node._target == target]

    def add(self, node: Node, *, is_last: bool) -> None:
        """Note a node that is new, or does something else than before."""
        key = _key(node)
        self._nodes.setdefault(key, {})[node] = None
        self._lists.pop(key, None)
        if not is_last:
            self._in_order.discard(key)

    def remove(self, node: Node) -> None:
        """Note that a node goes, or is about to do something else."""
        key = _key(node)
        self._nodes.get(key, {}).pop(node, None)
        self._lists.pop(key, None)

    def forget_order(self) -> None:
        """Note that a node is at another place."""
        self._in_order.clear()


def _key(node: Node) -> _Key:
    return (node._op, node._target if node._op == "call_function" else None)


def _order(node: Node) -> int:
    return node._sort_key
