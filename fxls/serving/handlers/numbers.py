"""The graphs that a comparison judged, and what it says of the nodes of a listing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fxls.ide.listing.document import Document
from fxls.lsp.uris import SCHEME
from fxls.record.node_errors import JudgedGraph, NodeError, node_errors
from fxls.serving.connection import Connection

__all__ = ["errors_of"]


def errors_of(ls: Connection, document: Document) -> Mapping[int, NodeError]:
    """How far the values of a listing's nodes are off; empty where nobody compared."""
    if document.path.startswith(f"{SCHEME}:"):
        return {}
    identity, root = document.listing.identity, Path(document.path).parent
    graphs = (
        JudgedGraph(there.listing, one)
        for one in ls.session.errors.of(root, identity)
        if (there := ls.session.library.beside(document, one.revision)) is not None
    )
    return node_errors(Path(document.path).name, document.listing, graphs)
