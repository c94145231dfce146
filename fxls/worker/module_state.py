"""What modules keep between two calls, so that each trace begins as the first one did."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["ModuleState"]


class ModuleState:
    """The attributes of a module and of those inside of it, at one moment.

    A model may keep what it computed, for the next call. Another trace would find a
    proxy of the trace before there.
    """

    def __init__(self, root: object) -> None:
        modules = root.modules() if isinstance(root, torch.nn.Module) else ()
        self._kept = [(one, _copy_of(one.__dict__)) for one in modules]

    def restore(self) -> None:
        for module, attributes in self._kept:
            module.__dict__.clear()
            module.__dict__.update(_copy_of(attributes))


def _copy_of(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: _container(value) for name, value in attributes.items()}


def _container(value: Any) -> Any:
    """A container as it is; what is in it is shared."""
    return value.copy() if type(value) in (dict, list, set) else value
