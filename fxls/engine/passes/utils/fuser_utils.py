"""Fusing: some nodes of a graph become one call of a submodule that does what they did."""

from __future__ import annotations

import copy
import heapq
import operator
from collections.abc import Iterable, Mapping

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir import dependence
from fxls.engine.ir.checkpoint import Checkpoint, SubmodulesCheckpoint
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node
from fxls.engine.origins import resolve as origin
from fxls.engine.passes.tools_common import (
    NodeList,
    NodeSet,
    legalize_graph,
    stable_topological_sort,
)
from fxls.engine.passes.utils.common import lift_subgraph_as_module
from fxls.engine.torch_private import INPUTS_FIRST

__all__ = [
    "NodeList",
    "NodeSet",
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "legalize_graph",
    "topo_sort",
    "validate_partition",
]


def topo_sort(nodes: NodeList) -> NodeList:
    """The nodes in an order in which values come before their uses.

    Of those that can be next, the first of the list is.
    """
    place = {node: i for i, node in enumerate(nodes)}
    missing = {
        node: sum(used in place for used in node.all_input_nodes) for node in nodes
    }
    ready = [(place[node], node) for node in nodes if not missing[node]]
    heapq.heapify(ready)
    ordered: NodeList = []
    while ready:
        _, node = heapq.heappop(ready)
        ordered.append(node)
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, (place[user], user))
    if len(ordered) != len(nodes):
        raise AssertionError(
            "the nodes cannot be put in order: they use each other in a circle, or one is"
            f" there twice: {nodes}"
        )
    return ordered


def validate_partition(partition: NodeList) -> bool:
    """Whether nodes can be made one: none depends on another through one outside."""
    return not dependence.depends_on_itself(partition, is_ordered=False)


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: NodeList,
    module_name: str,
    partition_lookup_table: Mapping[Node, int | None] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module of the class `module_name` that does what some nodes of `gm` do.

    - The nodes are in an order in which values come before their uses.
    - Returned with it: the nodes of `gm` that are its inputs, and those of `nodes` that
      are used outside, which it returns: alone, or in a tuple.
    - `gm` stays as it is. Raises AssertionError for nodes of another module, erased
      ones, and those that cannot be made one (`validate_partition`).
    """
    refuse_foreign(gm)
    _check_own(gm, nodes)
    if not validate_partition(nodes):
        raise AssertionError(
            f"{nodes} cannot be fused: something outside uses one of them, and another of"
            " them depends on it"
        )
    return _fused(
        gm, nodes, module_name, partition_lookup_table, is_tuple=always_return_tuple
    )


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Call what `fuse_as_graphmodule` made, in place of the nodes it was made of.

    The call stands behind `insertion_point`, or else behind the last of the outputs;
    the old nodes stay, without users. The submodule is named after its class.
    """
    refuse_foreign(gm)
    graph = gm.graph
    name = type(sub_gm).__name__
    if insertion_point is None:
        if not orig_outputs:
            raise AssertionError(
                "where to call the submodule is not known: it has no outputs, so give"
                " an insertion_point, such as the last node that was fused"
            )
        insertion_point = max(orig_outputs)
    gm.add_submodule(name, sub_gm)
    with graph.inserting_after(insertion_point):
        call = graph.call_module(name, args=orig_inputs)
    call._frames = origin.merge(
        node._frames
        for node in (*orig_outputs, *sub_gm.graph.nodes)
        if node.op not in ("placeholder", "output")
    )
    result = sub_gm.graph.output_node().args[0]
    if len(orig_outputs) == 1 and not isinstance(result, tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
    elif orig_outputs:
        with graph.inserting_before(call.next):
            for i, old in enumerate(orig_outputs):
                new = graph.call_function(operator.getitem, (call, i))
                new._frames = old._frames
                old.replace_all_uses_with(new, propagate_meta=True)
        call.meta["val"] = tuple(old.meta.get("val") for old in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: NodeList) -> None:
    """Erase nodes, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: list[dict[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,  # noqa: FBT001, FBT002 - FX's signature
) -> GraphModule:
    """Fuse each of several sets of nodes; the submodules are `prefix` and a number.

    The graph of `gm` is a new one afterwards. When one set cannot be fused, none is:
    graph and module are as they were.
    """
    refuse_foreign(gm)
    graph = gm.graph
    is_ordered = dependence.is_ordered(graph)
    with Checkpoint(graph), SubmodulesCheckpoint(gm):
        for number, partition in enumerate(partitions):
            nodes = topo_sort(list(partition))
            _check_own(gm, nodes)
            if dependence.depends_on_itself(nodes, is_ordered=is_ordered):
                raise AssertionError(
                    f"partition {number} cannot be fused: something outside uses one of"
                    f" its nodes, and another one depends on it: {nodes}"
                )
            fused, inputs, outputs = _fused(
                gm, nodes, f"{prefix}{number}", partition, is_tuple=always_return_tuple
            )
            last = nodes[-1]
            # The call stands behind the last node, maybe also behind a user of another.
            is_ordered = is_ordered and not any(
                user < last
                for node in outputs
                for user in node.users
                if user not in partition
            )
            insert_subgm(gm, fused, inputs, outputs, last)
            erase_nodes(gm, nodes)
        stable_topological_sort(gm)
        try:
            gm.graph.lint()
        except RuntimeError:
            gm.graph = graph
            raise
    return gm


def _check_own(gm: GraphModule, nodes: Iterable[Node]) -> None:
    for node in nodes:
        if node.graph is not gm.graph:
            raise AssertionError(f"{node} doesn't belong to {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been erased from {gm._get_name()}")


def _fused(
    gm: GraphModule,
    nodes: NodeList,
    name: str,
    table: Mapping[Node, int | None] | None,
    *,
    is_tuple: bool,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    own = dict.fromkeys(nodes) if table is None else table
    subgraph = Graph()
    inputs: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def given(used: Node) -> Node:
        if used not in inputs:
            inputs[used] = made = subgraph.placeholder(used.name, used.type)
            made.meta = copy.copy(used.meta)
            made._frames = used._frames
        return inputs[used]

    def copied(used: Node) -> Node:
        return copies[used] if used in own else given(used)

    if INPUTS_FIRST:
        outer = [used for node in nodes for used in node.all_input_nodes]
        for used in _in_order(dict.fromkeys(one for one in outer if one not in own)):
            given(used)
    for node in nodes:
        copies[node] = subgraph.node_copy(node, copied)
    outputs = [node for node in nodes if any(user not in own for user in node.users)]
    results = tuple(copies[node] for node in outputs)
    subgraph.output(results[0] if len(results) == 1 and not is_tuple else results)
    subgraph.lint()
    module, _ = lift_subgraph_as_module(gm, subgraph, class_name=name)
    return module, tuple(inputs), tuple(outputs)


def _in_order(inputs: Iterable[Node]) -> list[Node]:
    """The inputs of a fused module: where all are those of the graph, in its order."""
    found = list(inputs)
    return sorted(found) if all(one.op == "placeholder" for one in found) else found
