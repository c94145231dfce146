"""Paths as ``file:`` URIs and back."""

from __future__ import annotations

import os
import re
from pathlib import PurePath
from urllib.parse import quote, unquote, urlsplit

from fxls.text import Point

__all__ = ["SCHEME", "link_to", "path_of", "uri_of"]

SCHEME = "fxls"
"""Of the documents that are in no file."""


def uri_of(path: str) -> str:
    """The URI of an absolute path; the "path" of a virtual document is its URI."""
    if path.startswith(SCHEME + ":/"):
        return path
    if os.name == "nt":
        return PurePath(path).as_uri()
    return "file://" + quote(os.fsencode(path))


def link_to(path: str, point: Point) -> str:
    """The URI of a place, in the form that editors follow to line and column."""
    return f"{uri_of(path)}#L{point.line + 1},{point.column + 1}"


def path_of(uri: str) -> str | None:
    """The path of a ``file:`` URI; None for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path = unquote(parts.path, errors="surrogateescape")
    if os.name == "nt":
        host = f"//{parts.netloc}" if parts.netloc else ""
        drive = re.match(r"/([A-Za-z]):", path)
        path = drive[1].lower() + path[2:] if drive else host + path
    return os.path.normpath(path) if path else None
