"""What a traced module owns, and by which dotted path generated code reaches it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, cast

import torch

from fxls.engine.torch_private import FakeScriptObject, pytree

__all__ = ["CONSTANTS", "Members"]

CONSTANTS: tuple[type, ...] = (
    torch.Tensor,
    torch.ScriptObject,
    FakeScriptObject,
    pytree.TreeSpec,
)
"""Values that are kept as attributes, because code cannot write them down."""


class Members:
    """The submodules, parameters, buffers and constants of one module.

    - Of several paths to a submodule, parameter or buffer the first in the order of
      ``named_modules`` counts; of several to a constant the last.
    - Parameters and buffers are looked up as they are at that moment, although the walk
      over the modules is done once.
    """

    def __init__(self, root: torch.nn.Module) -> None:
        self._root = root
        self.paths: dict[torch.nn.Module, str] = {}
        self.constants: dict[Any, str] = {}
        self._entries: dict[str, dict[int, tuple[dict[str, Any], str, str]]] = {}
        for path, module in _walk(root, "", set(), []):
            self.paths.setdefault(module, path)
            own = module.__dict__
            if _USUAL.issuperset(map(type, own.values())):
                continue
            for name, value in own.items():
                if type(value) not in _USUAL and isinstance(value, CONSTANTS):
                    self.constants[value] = f"{path}.{name}" if path else name

    def have_any(self, kind: str) -> bool:
        """Whether any module has an entry in ``_parameters`` or ``_buffers``."""
        return any(getattr(module, kind) for module in self.paths)

    def path_of(self, kind: str, tensor: torch.Tensor) -> str | None:
        """The path of a tensor in ``_parameters`` or ``_buffers``; None if in none."""
        entry = self._index(kind).get(id(tensor))
        if entry is not None:
            owner, name, path = entry
            if name in owner and owner[name] is tensor:
                return path
        # The program may have assigned it while it was traced.
        for path, value in _named(self._root, kind):
            if value is tensor:
                return path
        return None

    def _index(self, kind: str) -> dict[int, tuple[dict[str, Any], str, str]]:
        index = self._entries.get(kind)
        if index is None:
            index = self._entries[kind] = {}
            for module, path in self.paths.items():
                owned = getattr(module, kind)
                for name, value in owned.items():
                    if value is not None:
                        full = f"{path}.{name}" if path else name
                        index.setdefault(id(value), (owned, name, full))
        return index


_USUAL = frozenset(
    {OrderedDict, dict, set, list, tuple, bool, int, float, str, type(None)}
)
"""Exact types that most attributes of modules have, none of them a constant's."""


def _walk(
    module: torch.nn.Module,
    path: str,
    outside: set[int],
    found: list[tuple[str, torch.nn.Module]],
) -> list[tuple[str, torch.nn.Module]]:
    """Add every path to every submodule, outermost first; `outside` ends cycles."""
    found.append((path, module))
    children: dict[str, Any] = module._modules
    prefix = f"{path}." if path else ""
    outside.add(id(module))
    seen: set[int] = set()
    for name, child in children.items():
        at = id(child)
        if child is not None and at not in seen and at not in outside:
            seen.add(at)
            if child._modules:
                _walk(child, f"{prefix}{name}", outside, found)
            else:  # spares a call for most modules
                found.append((f"{prefix}{name}", child))
    outside.discard(id(module))
    return found


def _named(root: torch.nn.Module, kind: str) -> Iterator[tuple[str, torch.Tensor]]:
    named = root.named_parameters if kind == "_parameters" else root.named_buffers
    return cast("Iterator[tuple[str, torch.Tensor]]", named())
