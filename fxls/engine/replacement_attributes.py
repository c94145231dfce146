"""What a replacement reads and calls comes into the module whose graph it was put in."""

from __future__ import annotations

import copy
from typing import Any

import torch

from fxls.engine.graph_module import GraphModule

__all__ = ["bring"]


def bring(gm: GraphModule, source: torch.nn.Module) -> None:
    """Copy from `source` what the graph of `gm` names and `gm` does not have.

    Submodules that the graph does not use are removed. Raises RuntimeError when neither
    has something; `gm` is as it was then.
    """
    before = [(module, dict(module._modules)) for module in gm.modules()]
    added: list[tuple[torch.nn.Module, str]] = []
    try:
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
            added.append((owner, name))
        gm.graph.lint()
    except BaseException:
        for owner, name in reversed(added):
            delattr(owner, name)
        for module, children in before:
            module._modules.clear()
            module._modules.update(children)
        raise


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
