"""A node as pickles name it: by its graph, and its place there."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from fxls.engine.lasting import lasting

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node import Node

__all__ = ["being_read", "node_at", "reduce_node"]


def reduce_node(node: Node) -> tuple[Any, ...]:
    """What pickle writes for a node: its graph, and its place in it."""
    if node._erased:
        raise pickle.PicklingError(f"{node} is erased: no graph could give it back")
    return node_at, (node.graph, node._sort_key)


@lasting("fxls.engine", "_node_at")
def node_at(graph: Graph, key: int) -> Node:
    """The node of a graph with this order label, also while the graph is read."""
    made = being_read.get(id(graph))
    if made is not None:
        return made[key]
    return next(node for node in graph.nodes if node._sort_key == key)


being_read: dict[int, dict[int, Node]] = {}
"""The nodes, by order label, of the graphs whose records are not read yet."""
