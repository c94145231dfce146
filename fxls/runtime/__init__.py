"""In the user's process: graphs become listings, and code runs under their paths."""

from fxls.runtime.asked import listing_of_module, show
from fxls.runtime.install import break_on, finish, install, installed, uninstall
from fxls.runtime.listing_of import listing_of

__all__ = [
    "break_on",
    "finish",
    "install",
    "installed",
    "listing_of",
    "listing_of_module",
    "show",
    "uninstall",
]
