"""Reading a module of the user's while another thread may trace it.

`torch.fx` replaces `Module.__getattr__` for the whole process while it traces, and takes
a parameter that anybody reads by it for one that the model reads. What is known of a
module is read here without that method.
"""

from __future__ import annotations

from typing import Any

import torch

from fxls.runtime.torch_private import children_of, held_by

__all__ = ["attribute_at", "stand_in"]


def attribute_at(root: torch.nn.Module, path: str) -> Any:
    """The attribute of a module at a dotted path; None when there is none."""
    at: Any = root
    for atom in path.split("."):
        held = held_by(at).get(atom) if isinstance(at, torch.nn.Module) else None
        at = getattr(at, atom, None) if held is None else held
    return at


def stand_in(module: torch.nn.Module) -> torch.nn.Module:
    """What has the class and the values of a module, and all of them as plain attributes.

    It is for a `repr`, which may read whatever it likes: it is no module to be run.
    """
    held = held_by(module)
    if isinstance(module, torch.jit.ScriptModule) or not held:
        return module  # reads its attributes in other ways, or has none
    other: Any = object.__new__(type(module))
    children = {
        name: None if child is None else stand_in(child)
        for name, child in children_of(module).items()
    }
    other.__dict__.update(held | children | {"_modules": children})
    return other
