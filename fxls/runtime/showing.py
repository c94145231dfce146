"""The listing of a module that the program itself asks for."""

from __future__ import annotations

import contextlib
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from fxls.engine.graph_module import GraphModule
from fxls.listing import Listing
from fxls.record import Pass
from fxls.runtime.installing import current, install, store_of_program
from fxls.runtime.listings.listing_text import listing_of
from fxls.runtime.notebook import display
from fxls.runtime.producers.torch_export import note_program
from fxls.runtime.producers.torch_fx import lister
from fxls.runtime.torch_private import fx
from fxls.store import StoreError
from fxls.store.show_requests import ask_to_show

__all__ = ["listing_of_module", "passes_of", "show"]


def listing_of_module(module: Any) -> Listing:
    """The listing of a graph module of any producer, or of an exported program.

    Its graph as it is now; nothing is written.
    """
    if isinstance(module, GraphModule):
        return listing_of(module)
    if hasattr(module, "graph_signature"):
        module = note_program(module)
    if not isinstance(module, fx.GraphModule):
        raise TypeError(f"{_no_graph(module)}, or a program of torch.export")
    installation = current()
    torch_fx = lister() if installation is None else installation.torch_fx
    return torch_fx.listing(module)


def passes_of(module: Any) -> AbstractContextManager[list[Pass]]:
    """A block of the program whose functions are passes over a graph module."""
    if not isinstance(module, GraphModule | fx.GraphModule):
        raise TypeError(_no_graph(module))
    if current() is None:
        install()
    installation = current()
    assert installation is not None, "just installed"
    return installation.passes.block(module)


def _no_graph(module: object) -> str:
    return (
        f"{type(module).__qualname__} has no graph: give a GraphModule of torch.fx"
        " or fxls.engine"
    )


def show(module: Any) -> Path:
    """Write the listing of a module, print where it is, and return that.

    A notebook shows it in the cell, as code with shapes and as a table, in place of the
    path, which is the value of the cell. An editor that has the store open shows it.
    """
    listing = listing_of_module(module)
    path = store_of_program().materialize(listing)
    is_shown = display(listing)
    with contextlib.suppress(StoreError):  # it is printed below
        ask_to_show(path, listing.definition)
    if not is_shown:
        # In this form a terminal of an editor makes a link of it.
        sys.stdout.write(f"{path}:{listing.definition + 1}\n")
    return path
