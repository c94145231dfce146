"""The identity of a graph: what a person calls the class or function that was traced."""

from __future__ import annotations

import torch

from fxls.engine.graph import Graph
from fxls.listing import Identity
from fxls.runtime.listings.module_names import importable_name, name_of_file
from fxls.runtime.listings.rank import rank

__all__ = ["identity_of"]


def identity_of(module: torch.nn.Module, graph: Graph) -> Identity:
    """The class, or the function, that was traced; else what the nodes came from.

    A graph that nobody traced is called after the class of its module.
    """
    traced = graph.traced
    if traced is not None:
        return Identity(importable_name(traced[0]), traced[1], rank=rank())
    for node in graph.nodes:
        found = node.origin
        if found is not None:
            place = found.places[-1]
            qualname = place.function.rpartition(".")[0]
            return Identity(
                name_of_file(place.path), qualname or place.function, rank=rank()
            )
    kind = type(module)
    return Identity(importable_name(kind.__module__), kind.__name__, rank=rank())
