"""What a replacement reads and calls comes into the module whose graph it was put in."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import torch

from fxls.engine.ir.checkpoint import SubmodulesCheckpoint

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.graph_module import GraphModule
    from fxls.engine.ir.node import Node

__all__ = ["copy_constants", "copy_missing"]


def copy_missing(gm: GraphModule, source: torch.nn.Module) -> None:
    """Copy from `source` what the graph of `gm` names and `gm` does not have.

    Submodules that the graph does not use are removed. Raises RuntimeError when neither
    has something; `gm` is as it was then.
    """
    with SubmodulesCheckpoint(gm), contextlib.ExitStack() as undo:
        gm.delete_all_unused_submodules()
        for node in gm.graph.nodes:
            if node.op != "call_module" and node.op != "get_attr":
                continue
            path = str(node.target)
            if _at(gm, path) is not None:
                continue
            value = _at(source, path)
            if value is None:
                raise RuntimeError(
                    f"{node.format_node()} was put into the graph, and neither the module"
                    f" nor the replacement has anything at {path!r}"
                )
            copied = copy.deepcopy(value)
            if isinstance(copied, torch.nn.Module):
                gm.add_submodule(path, copied)
                continue
            owner, name = _owner(gm, path)
            setattr(owner, name, copied)
            undo.callback(delattr, owner, name)
        gm.graph.lint()
        undo.pop_all()


def copy_constants(gm: GraphModule, graph: Graph, made: Iterable[Node]) -> None:
    """Give `gm` the tensors that a traced function holds, under names of their own.

    `graph` is that of the function, `made` what was copied from it.
    """
    if not graph.find_nodes(op="get_attr", sort=False):
        return
    paths: dict[str, str] = {}
    for node in made:
        if node.op != "get_attr":
            continue
        path = str(node.target)
        if path not in paths:
            value = _at(cast("GraphModule", graph.owning_module), path)
            paths[path] = own = _free(gm, path, value)
            setattr(gm, own, value)
        node.target = paths[path]


def _free(gm: GraphModule, name: str, value: Any) -> str:
    """The name, with another number where it stands for another value."""
    base, number = name.rstrip("0123456789"), 0
    while getattr(gm, name, value) is not value:
        name, number = f"{base}{number}", number + 1
    return name


def _at(module: torch.nn.Module, path: str) -> Any:
    """What lies at a path; None where there is nothing."""
    owner_path, _, name = path.rpartition(".")
    try:
        owner = module.get_submodule(owner_path)
    except AttributeError:
        return None
    return getattr(owner, name, None)


def _owner(module: torch.nn.Module, path: str) -> tuple[torch.nn.Module, str]:
    """The module that holds what lies at a path, made when there is none, and its name."""
    owner_path, _, name = path.rpartition(".")
    owner = module
    for atom in owner_path.split(".") if owner_path else ():
        child = owner._modules.get(atom)
        if child is None:
            child = torch.nn.Module()
            owner.add_module(atom, child)
        owner = child
    return owner, name
