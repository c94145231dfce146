"""Types for the elements that a graph takes out of typed sequences."""

from __future__ import annotations

import operator
import typing
from typing import Any

import torch

from fxls.engine.graph import Graph
from fxls.engine.ir.node import Node

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give each ``sequence[index]`` the type that the annotation of the sequence says.

    Known are tuples, lists and named tuples; a sequence without a type says nothing.
    """
    for node in graph.find_nodes(op="call_function", target=operator.getitem):
        sequence, index = node.args
        if isinstance(sequence, Node) and sequence.type:
            element = _element(sequence.type, index)
            if element is not None:
                node.type = element


def _element(sequence: Any, index: Any) -> Any:
    """The type at an index of a sequence of this type; None when it does not say."""
    origin = typing.get_origin(sequence)
    parts = typing.get_args(sequence)
    if origin is list:
        return parts[0] if parts else None
    if not isinstance(index, int):
        return None
    if origin is tuple and parts:
        if len(parts) == 2 and parts[1] is ...:
            return parts[0]
        if index >= len(parts):
            raise AssertionError(f"{sequence} has no element {index}")
        return parts[index]
    if hasattr(sequence, "_fields") and sequence is not torch.Tensor:
        return sequence.__annotations__.get(sequence._fields[index])
    return None
