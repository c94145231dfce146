"""What a request is about: a listing or a source, and a place in it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from lsprotocol import types as lsp

from fxls.ide.listing.document import Document
from fxls.ide.text_document_content import Sheet
from fxls.lsp import from_lsp
from fxls.lsp.uris import SCHEME, path_of
from fxls.serving.connection import Connection
from fxls.text import LineTable, Point

__all__ = ["Positioned", "RequestPlace", "document_of", "place_of"]


class Positioned(Protocol):
    """The parameters of every request about a place."""

    text_document: lsp.TextDocumentIdentifier
    position: lsp.Position


class RequestPlace(NamedTuple):
    """A place that the client asks about."""

    path: str
    lines: LineTable
    point: Point
    document: Document | None
    """The listing, when the place is in one; else it is in a source."""


def document_of(ls: Connection, uri: str) -> Document | None:
    """The listing that a URI names: a file of a store, or a virtual document."""
    if uri.startswith(f"{SCHEME}:"):
        found = ls.session.library.virtual(uri)
        return None if isinstance(found, Sheet) else found
    path = path_of(uri)
    return ls.session.document(path) if path else None


def place_of(ls: Connection, params: Positioned) -> RequestPlace | None:
    """The place of a request; None when there is nothing to say about its file."""
    uri = params.text_document.uri
    path = path_of(uri)
    if path is not None and ls.session.trouble(path):
        return None
    document = document_of(ls, uri)
    if document is not None:
        path = document.path
    lines = document.lines if document else path and ls.session.lines_of(path)
    if not lines or path is None:
        return None
    point = from_lsp.point(params.position, lines, ls.client.encoding)
    return RequestPlace(path, lines, point, document)
