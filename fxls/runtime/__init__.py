"""In the user's process: graphs become listings, and code runs under their paths."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fxls.runtime.installing import (
        break_on,
        finish,
        install,
        installed,
        new_run,
        uninstall,
    )
    from fxls.runtime.listings.listing_text import listing_of
    from fxls.runtime.showing import listing_of_module, passes_of, show

__all__ = [
    "break_on",
    "finish",
    "install",
    "installed",
    "listing_of",
    "listing_of_module",
    "new_run",
    "passes_of",
    "show",
    "uninstall",
]

_INSTALLING = ("break_on", "finish", "install", "installed", "new_run", "uninstall")


def __getattr__(name: str) -> object:
    """What is asked for: a worker lists graphs, and needs none of the hooks."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "showing"
    if name in _INSTALLING:
        room = "installing"
    elif name == "listing_of":
        room = "listings.listing_text"
    found = getattr(importlib.import_module(f"{__name__}.{room}"), name)
    globals()[name] = found
    return found
