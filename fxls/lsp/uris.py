"""Paths as ``file:`` URIs and back, on every system."""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from urllib.parse import quote, unquote, urlsplit

from fxls.text import Point

__all__ = [
    "SCHEME",
    "link_to",
    "path_of",
    "posix_path",
    "posix_uri",
    "uri_of",
    "windows_path",
    "windows_uri",
]

SCHEME = "fxls"
"""Of the documents that are in no file."""


def uri_of(path: str) -> str:
    """The URI of an absolute path; the "path" of a virtual document is its URI."""
    if path.startswith(SCHEME + ":/"):
        return path
    return windows_uri(path) if os.name == "nt" else posix_uri(path)


def link_to(path: str, point: Point) -> str:
    """The URI of a place, in the form that editors follow to line and column."""
    return f"{uri_of(path)}#L{point.line + 1},{point.column + 1}"


def path_of(uri: str) -> str | None:
    """The path of a ``file:`` URI; None for any other."""
    return windows_path(uri) if os.name == "nt" else posix_path(uri)


def posix_uri(path: str) -> str:
    # A name of a file may be no Unicode: its bytes are.
    return "file://" + quote(path.encode("utf-8", "surrogateescape"))


def windows_uri(path: str) -> str:
    path = path.replace("\\", "/")
    drive, rest = ("", path) if path.startswith("//") else (path[:2], path[2:])
    # There, a name may have half of a surrogate pair.
    quoted = quote(rest.encode("utf-8", "surrogatepass"))
    return f"file:///{drive}{quoted}" if drive else f"file:{quoted}"


def posix_path(uri: str) -> str | None:
    found = _split(uri, "surrogateescape")
    return posixpath.normpath(found[1]) if found and found[1] else None


def windows_path(uri: str) -> str | None:
    """With the drive in small letters: clients write it either way, also as ``c%3A``."""
    found = _split(uri, "surrogatepass")
    if not found or not found[1]:
        return None
    host, path = found
    drive = re.match(r"/([A-Za-z]):", path)
    if drive:
        path = drive[1].lower() + path[2:]
    elif host and host.lower() != "localhost":
        path = f"//{host}{path}"
    return ntpath.normpath(path)


def _split(uri: str, errors: str) -> tuple[str, str] | None:
    """Host and path; None when it is no ``file:`` URI."""
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors=errors)
    except ValueError:
        return None
    return (parts.netloc, path) if parts.scheme == "file" else None
