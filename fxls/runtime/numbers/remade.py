"""Keeps a graph as it is at one moment, and makes a graph module of it again."""

from __future__ import annotations

from typing import Any

from fxls.runtime.numbers.graphs import NotRun
from fxls.runtime.passes.graph_state import GraphState, HeldGraph, Row
from fxls.runtime.producers.capture import hushed
from fxls.runtime.torch_private import fx

__all__ = ["as_it_is", "remade"]


def as_it_is(module: Any) -> GraphState:
    """The graph of a module, with what its nodes note, and the graphs that they call."""
    state = GraphState(module)
    state.keep_what_nodes_say()
    if any(row.opcode in ("get_attr", "call_module") for row in state.rows):
        state.rows = tuple(map(_with_graph, state.rows))
    return state


def _with_graph(row: Row) -> Row:
    called = row.held()
    if not isinstance(called, fx.GraphModule):
        return row
    return Row(*row[:-1], HeldGraph(as_it_is(called), remade))


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
    with hushed():
        return fx.GraphModule(held, made)
