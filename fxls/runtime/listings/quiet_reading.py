"""Reading a module of the user's while another thread may trace it.

`torch.fx` replaces `Module.__getattr__` for the whole process while it traces, and takes
a parameter that anybody reads by it for one that the model reads. What is known of a
module is read here without that method.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

__all__ = ["attribute_at", "stand_in"]

_PLACES = ("_parameters", "_buffers", "_modules")
"""Where a module keeps what `__getattr__` finds."""


def attribute_at(root: torch.nn.Module, path: str) -> Any:
    """The attribute of a module at a dotted path; None when there is none."""
    at: Any = root
    for atom in path.split("."):
        held = _held(at).get(atom)
        at = getattr(at, atom, None) if held is None else held
    return at


def stand_in(module: torch.nn.Module) -> torch.nn.Module:
    """What has the class and the values of a module, and all of them as plain attributes.

    It is for a `repr`, which may read whatever it likes: it is no module to be run.
    """
    if isinstance(module, torch.jit.ScriptModule) or not _is_made(module):
        return module  # reads its attributes in other ways, or has none
    other: Any = object.__new__(type(module))
    modules = {
        name: None if child is None else stand_in(child)
        for name, child in module._modules.items()
    }
    other.__dict__.update(_held(module) | modules | {"_modules": modules})
    return other


def _held(at: object) -> dict[str, Any]:
    """The values of a module that its `__getattr__` would find, and its own."""
    if not isinstance(at, torch.nn.Module) or not _is_made(at):
        return {}
    own = at.__dict__
    held: dict[str, Any] = dict(own)
    for place in _PLACES:
        held |= own[place]
    return held


def _is_made(module: torch.nn.Module) -> bool:
    """Whether a module has what `Module.__init__` gives it, in the usual form."""
    return all(isinstance(module.__dict__.get(place), Mapping) for place in _PLACES)
