"""What a run knew of a listing in other compilations than the one that made it last."""

from __future__ import annotations

from pathlib import Path

from fxls.ide.listing.document import Document
from fxls.ide.listing.other_graphs import OtherGraph
from fxls.serving.connection import Connection
from fxls.serving.virtual_uris import VIRTUAL
from fxls.store import StoreError

__all__ = ["other_graphs"]


def other_graphs(ls: Connection, document: Document) -> tuple[OtherGraph, ...]:
    """The graphs of these compilations, the latest first."""
    if document.path.startswith(VIRTUAL):
        return ()
    path, library = Path(document.path), ls.session.library
    store = library.store_at(path.parent)
    try:
        # Most texts have facts of one kind, and then no record is read.
        if store.count_instances(path) < 2:
            return ()
    except StoreError:
        return ()
    others = library.records.others(store, document.listing.identity, path.name)
    read = ((of, library.beside(document, name)) for of, name in others)
    return tuple(OtherGraph(of, one.listing) for of, one in read if one is not None)
