"""Noting beside calls of well-known modules what a backend needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from fxls.engine.graph_module import GraphModule

__all__ = [
    "default_matching",
    "extract_attrs_for_lowering",
    "lift_lowering_attrs_to_nodes",
    "module_fetch_book",
]


def default_matching(name: str, target_version: int) -> str:
    """The name of an attribute in another version of its module: the same one."""
    return name


_POOL = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
_CONV = [*_POOL[:4], "groups", "padding_mode"]
_NORM = ["running_mean", "running_var", "eps"]

module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (1, ["weight", "bias", *_CONV], default_matching),
    nn.BatchNorm2d: (2, ["weight", "bias", *_NORM], default_matching),
    nn.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.MaxPool2d: (1, _POOL, default_matching),
    nn.ReLU: (1, ["inplace"], default_matching),
}
"""Per class: the newest version that is known, what to note, and the name that each of
these has in a version. Add to it for modules of your own."""


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """What is to be noted of a module, with the name of its class under ``name``.

    Raises RuntimeError for a class that is not in `module_fetch_book`, and for a version
    that is newer than the book.
    """
    name: str = torch.typename(mod)
    entry = module_fetch_book.get(type(mod))
    if entry is None:
        raise RuntimeError(
            f"{name} is not in the module_fetch_book, so what a backend needs of it is"
            " not known: add its class there"
        )
    newest, attributes, name_in = entry
    version = mod._version
    if newest < version:
        raise RuntimeError(
            f"the module_fetch_book knows {name} up to version {newest}, and this one has"
            f" version {version}: its attributes may have other names"
        )
    noted: dict[str, Any] = {"name": name}
    for attribute in attributes:
        noted[attribute] = getattr(mod, name_in(attribute, version))
    return noted


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Set `attrs_for_lowering` on every call of a submodule, in GraphModules inside too.

    Nothing is set when one of the modules is not known.
    """
    for node, noted in _to_note(fx_module):
        node.attrs_for_lowering = noted


def _to_note(module: GraphModule) -> list[tuple[Any, dict[str, Any]]]:
    notes: list[tuple[Any, dict[str, Any]]] = []
    for node in module.graph.nodes:
        if node.op == "call_module":
            called = module.get_submodule(str(node.target))
            if isinstance(called, GraphModule):
                notes.extend(_to_note(called))
            else:
                notes.append((node, extract_attrs_for_lowering(called)))
    return notes
