"""The identity of a graph: what a person calls the class or function that was traced."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import torch

from fxls.engine.graph import Graph
from fxls.engine.written_class import written_class
from fxls.listing import Identity
from fxls.runtime.listings.module_names import importable_name, name_of_file
from fxls.runtime.listings.rank import rank
from fxls.runtime.listings.submodule_paths import module_path

__all__ = ["identity_of", "root_in"]


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
        stack = node.noted("nn_module_stack")
        if isinstance(stack, Mapping) and (root := root_in(stack)):
            return Identity(importable_name(root[0]), root[1], rank=rank())
    kind = written_class(type(module))
    return Identity(importable_name(kind.__module__), kind.__name__, rank=rank())


def root_in(stack: Any) -> tuple[str, str] | None:
    """The class of the root in a module stack, which torch.export puts there."""
    for entry in stack.values():
        match entry:
            case (str(path), kind) if not module_path(path):
                break
            case _:
                return None
    else:
        return None
    if isinstance(kind, type):
        kind = written_class(kind)
        return kind.__module__, kind.__qualname__
    return _imported(str(kind))


def _imported(written: str) -> tuple[str, str] | None:
    """Module and qualified name of a class that torch wrote with a dot between them."""
    names = written.split(".")
    for end in range(len(names) - 1, 0, -1):
        module = sys.modules.get(".".join(names[:end]))
        if module is not None and hasattr(module, names[end]):
            return ".".join(names[:end]), ".".join(names[end:])
    # Of a file of another process: what a class is in begins with a capital letter, or
    # is the function that it is local to.
    outer = [n for n in range(1, len(names)) if names[n][:1].isupper()]
    local = [n for n in range(1, len(names)) if names[n + 1 : n + 2] == ["<locals>"]]
    start = min((*outer, *local, len(names) - 1))
    return (".".join(names[:start]), ".".join(names[start:])) if start else None
