"""What a notebook shows of graph modules, where the program runs in one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fxls.attempt import Raised, attempt
from fxls.listing import Listing
from fxls.listing.html import file_name, html_of
from fxls.runtime.faults import logging_faults

__all__ = ["display", "represent", "represent_no_more"]

_HTML = "text/html"


def display(listing: Listing) -> bool:
    """Show a listing in the cell that runs; False where there is none.

    A terminal of IPython shows no HTML, and gets the path like any other.
    """
    shell = _notebook()
    if shell is None:
        return False
    ipython: Any = sys.modules["IPython"]
    text = _html(shell, listing)
    shown = attempt(lambda: ipython.display.display(ipython.display.HTML(text)))
    return not isinstance(shown, Raised)


def represent(kinds: Mapping[str, Callable[[Any], Listing]]) -> None:
    """Show what is the value of a cell as its listing, where it is of one of these kinds.

    A kind is the full name of a class. What the person has set for it stays.
    """
    shell = _notebook()
    if shell is None:
        return
    for kind, listing_of in kinds.items():

        def shown(
            value: Any, listing_of: Callable[[Any], Listing] = listing_of
        ) -> str | None:
            with logging_faults("a graph module is shown as its text"):
                return _html(shell, listing_of(value))
            # The cell shows the text that it would show without fxls.
            return None

        with logging_faults("a notebook shows graph modules as their text"):
            _represent_one(shell, kind, shown)


def _represent_one(shell: Any, kind: str, shown: Callable[[Any], Any]) -> None:
    formatter = shell.display_formatter.formatters[_HTML]
    if kind not in formatter:
        formatter.for_type_by_name(*kind.rsplit(".", 1), shown)
        _represented.add(kind)


def represent_no_more(kinds: Iterable[str]) -> None:
    """Show values of these kinds as without fxls."""
    shell = _notebook()
    for kind in _represented.intersection(kinds):
        _represented.discard(kind)
        if shell is not None:
            with logging_faults("a notebook still shows graph modules as listings"):
                shell.display_formatter.formatters[_HTML].pop(kind, None)


_represented: set[str] = set()
"""The kinds that fxls has told the shell of this process about."""


def _notebook() -> Any:
    """The shell of the notebook that this program runs in; None where it runs in none."""
    ipython: Any = sys.modules.get("IPython")
    if ipython is None:
        return None
    shell = attempt(ipython.get_ipython)
    if isinstance(shell, Raised) or not hasattr(shell, "kernel"):
        return None
    return shell


def _html(shell: Any, listing: Listing) -> str:
    return html_of(listing, lambda path: _name_of(shell, path))


def _name_of(shell: Any, path: str) -> str:
    """A cell by its number, as the shell itself names it; else the name of the file."""
    found: object = attempt(lambda: shell.compile.format_code_name(path))
    match found:
        case ("Cell", str(name)):
            return name.replace("In[", "In [")
        case _:
            return file_name(path)
