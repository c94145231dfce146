"""In the user's process: graphs become listings, and code runs under their paths."""

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
