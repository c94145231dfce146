"""Makes a graph module again of a graph as it was at one moment."""

from __future__ import annotations

from typing import Any

from fxls.runtime.numbers.graphs import NotRun
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.torch_private import fx

__all__ = ["remade"]


def remade(state: GraphState) -> Any:
    """A graph module of its own, legal or not, with what the nodes noted then.

    Raises `NotRun` where it holds something no more that a node reads.
    """
    made: Any = fx.Graph()
    elsewhere: Any = fx.Graph()
    nodes: dict[Any, Any] = {}
    held: dict[str, Any] = {}

    def again(node: Any) -> Any:
        """The same node; one of no graph of ours where it was in none."""
        if node not in nodes:
            nodes[node] = elsewhere.placeholder(node.name)
        return nodes[node]

    for row in state.rows:
        if row.opcode in ("get_attr", "call_module"):
            found = row.held()
            if found is None:
                raise NotRun(f"the graph holds no {row.target} any more")
            held[str(row.target)] = found
        node = made.create_node(row.opcode, row.target, name=row.name)
        nodes[row.node], node.type = node, row.type
        node.meta = state.meta_of(row.node)
    # A node may read one that stands behind it: that is what a graph is asked for.
    for row in state.rows:
        nodes[row.node].args = fx.node.map_arg(row.args, again)
        nodes[row.node].kwargs = fx.node.map_arg(row.kwargs, again)
    return fx.GraphModule(held, made)
