"""Retargeting the nodes of a graph, and how many bytes their values take."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node, Target, map_arg
from fxls.engine.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


def replace_target_nodes_with(
    fx_module: GraphModule,
    old_op: str,
    old_target: Target,
    new_op: str,
    new_target: Target,
) -> None:
    """Let every node with one opcode and target have others; its arguments stay.

    The module gets a copy of its graph.
    """
    refuse_foreign(fx_module)
    made = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            copies[node] = new = made.create_node(
                new_op,
                new_target,
                map_arg(node.args, copies.__getitem__),
                map_arg(node.kwargs, copies.__getitem__),
                node.name,
            )
            new._frames = node._frames
        else:
            copies[node] = made.node_copy(node, copies.__getitem__)
    fx_module.graph = made


class size_bytes(NamedTuple):  # noqa: N801 - FX's name
    """How many bytes a node takes."""

    output_size: int
    """Its value."""
    total_size: int
    """Its value, and the parameters of the module that it calls."""


def get_size_of_all_nodes(
    fx_module: GraphModule, args: list[torch.Tensor] | None = None
) -> None:
    """Set `size_bytes` on every node but the output.

    With `args` the module is run on them, to know the shapes.
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    computed = (node for node in fx_module.graph.nodes if node.op != "output")
    for node in computed:
        sized: Any = node
        sized.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What is known of a node's tensor; raises RuntimeError when nothing is."""
    noted = node.meta.get("tensor_meta")
    if not noted:
        raise RuntimeError(
            f"Node {node} has no tensor metadata: run ShapeProp on the module first"
        )
    return noted


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node's tensor, and of the parameters of what it calls.

    Parameters are counted as if they had the dtype of the result.
    """
    noted = get_tensor_meta(node)
    output = noted.shape.numel()
    parameters = 0
    if node.op == "call_module":
        called = fx_module.get_submodule(str(node.target))
        parameters = sum(parameter.numel() for parameter in called.parameters())
    itemsize = noted.dtype.itemsize
    return size_bytes(itemsize * output, itemsize * (output + parameters))
