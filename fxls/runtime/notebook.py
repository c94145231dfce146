"""What a notebook shows of graph modules, where the program runs in one."""

from __future__ import annotations

import sys
from typing import Any

from fxls.attempt import Raised, attempt
from fxls.listing import Listing
from fxls.listing.html import file_name, html_of

__all__ = ["display"]


def display(listing: Listing) -> bool:
    """Show a listing in the cell that runs; False where there is none.

    A terminal of IPython shows no HTML, and gets the path like any other.
    """
    ipython: Any = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell = attempt(ipython.get_ipython)
    if shell is None or isinstance(shell, Raised) or not hasattr(shell, "kernel"):
        return False
    text = html_of(listing, lambda path: _name_of(shell, path))
    shown = attempt(lambda: ipython.display.display(ipython.display.HTML(text)))
    return not isinstance(shown, Raised)


def _name_of(shell: Any, path: str) -> str:
    """A cell by its number, as the shell itself names it; else the name of the file."""
    found: object = attempt(lambda: shell.compile.format_code_name(path))
    match found:
        case ("Cell", str(name)):
            return name.replace("In[", "In [")
        case _:
            return file_name(path)
