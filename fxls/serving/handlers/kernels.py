"""The code that a compiler wrote for a graph, and the graph that code is of."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from msgspec import structs

from fxls.ide.hover import Beside
from fxls.ide.listing.document import Document
from fxls.ide.listing.parent import parent_paths
from fxls.listing import KERNELS
from fxls.lsp.uris import SCHEME
from fxls.serving.connection import Connection

__all__ = ["beside"]

_LAST = "post-grad"
"""The stage of the graph that code is written for."""
_MOST = 8
"""So many revisions of code are looked at; the newest is nearly always the one."""


def beside(ls: Connection, document: Document) -> Beside:
    """What goes with a listing: code with its graph, and a graph with its code."""
    stage = document.listing.identity.stage
    if stage.rpartition(", ")[2] == KERNELS:
        above = next(parent_paths(document), None)
        return Beside(graph=ls.session.document(above) if above else None)
    return Beside(code=partial(_code_of, ls, document))


def _code_of(ls: Connection, document: Document) -> Document | None:
    """The newest code that was written for just this graph."""
    identity = document.listing.identity
    before, _, last = identity.stage.rpartition(", ")
    if last != _LAST or document.path.startswith(f"{SCHEME}:"):
        return None
    path = Path(document.path)
    library = ls.session.library
    code = structs.replace(identity, stage=f"{before}, {KERNELS}")
    revisions = library.store_at(path.parent).revisions(code)
    for revision in reversed(revisions[-_MOST:]):
        found = library.beside(document, revision.path.name)
        parents = () if found is None else found.listing.parents
        if parents and parents[0].file == path.name:
            return found
    return None
