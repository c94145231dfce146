"""Several products with one matrix on their right become one product."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Sequence

import torch

from fxls.engine._symbolic_trace import symbolic_trace, wrap
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.dependence import depends_on_itself
from fxls.engine.ir.node import Node
from fxls.engine.passes.tools_common import legalize_graph

__all__ = [
    "are_nodes_independent",
    "may_depend_on",
    "merge_matmul",
    "split_result_tensors",
]


@wrap
def split_result_tensors(
    result: torch.Tensor, inputs: list[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """The rows of a product that belong to each of the tensors that were stacked.

    A trace takes it as one call, for only tensors know how many rows they have.
    """
    return torch.split(result, [one.shape[0] for one in inputs])


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether `a` uses what `b` gives, as far as so many steps back tell: else, it may."""
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(one, b, search_depth - 1) for one in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether no node uses what another one of them gives, as far as is looked."""
    return not any(
        may_depend_on(first, second) or may_depend_on(second, first)
        for place, first in enumerate(nodes)
        for second in nodes[place + 1 :]
    )


def merge_matmul(in_mod: torch.nn.Module) -> GraphModule:
    """A module traced from another one, with fewer calls of `torch.matmul`.

    Those with the same right operand become one call with their left operands above one
    another, unless one of them needs the result of another. The left operands have to be
    matrices.
    """
    gm = symbolic_trace(in_mod)
    by_right: defaultdict[object, list[Node]] = defaultdict(list)
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target is torch.matmul:
            right = node.args[1] if len(node.args) > 1 else node.kwargs["other"]
            is_read = isinstance(right, Node) and right.op == "get_attr"
            by_right[right.target if is_read else right].append(node)
    for products in by_right.values():
        if len(products) > 1 and not _uses_its_own(products):
            _merge(gm.graph, products)
    legalize_graph(gm)
    gm.recompile()
    return gm


def _uses_its_own(products: Sequence[Node]) -> bool:
    inside = set(products)
    used = any(inside & set(node.all_input_nodes) for node in products)
    return used or depends_on_itself(products, is_ordered=False)


def _merge(graph: Graph, products: list[Node]) -> None:
    first = products[0]
    left = [n.args[0] if n.args else n.kwargs["input"] for n in products]
    right = first.args[1] if len(first.args) > 1 else first.kwargs["other"]
    with graph.inserting_after(products[-1]):
        stacked = graph.call_function(torch.cat, (left,))
    with graph.inserting_after(stacked):
        product = graph.call_function(torch.matmul, (stacked, right))
    with graph.inserting_after(product):
        parts = graph.call_function(split_result_tensors, (product, left))
    behind = parts
    for place, node in enumerate(products):
        with graph.inserting_after(behind):
            behind = graph.call_function(operator.getitem, (parts, place))
        node.replace_all_uses_with(behind)
        graph.erase_node(node)
