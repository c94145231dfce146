"""Modules of torch.fx of which a process has one: ours of the same path are these."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

__all__ = ["lend", "theirs"]

_OURS, _THEIRS = "fxls.engine", "torch.fx"


def theirs(module: str) -> ModuleType:
    """The module of torch.fx that has the path of one of ours."""
    return importlib.import_module(_THEIRS + module.removeprefix(_OURS))


def lend(module: str) -> None:
    """Let an import of one of our modules, which is running, give torch's."""
    sys.modules[module] = theirs(module)
