"""The class that somebody wrote, of one that torch made from it while the program ran."""

from __future__ import annotations

import sys

import torch

__all__ = ["written_class"]


def written_class(kind: type) -> type:
    """The class that a person would name: `kind`, or what torch made it from.

    FSDP2 and parametrizations exchange the class of a module for a subclass that no
    module of Python holds, as ``FSDPNet`` and ``ParametrizedNet``.
    """
    for one in kind.__mro__:
        if issubclass(one, torch.nn.Module) and not _is_made_by_torch(one):
            return kind if one is torch.nn.Module else one
    return kind


def _is_made_by_torch(kind: type) -> bool:
    if kind.__module__.partition(".")[0] != torch.__name__ or "." in kind.__qualname__:
        return False  # a class inside of a function or class, as GraphModule makes one
    module = sys.modules.get(kind.__module__)
    return module is not None and getattr(module, kind.__name__, None) is not kind
