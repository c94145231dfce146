"""What a client asks with the requests that are ours, as `docs/protocol.md` has it."""

from __future__ import annotations

from typing import Any

import msgspec

from fxls.ide.listing.table_rows import Column
from fxls.lsp import custom

__all__ = [
    "PARAMS",
    "About",
    "Diff",
    "Normalized",
    "Nothing",
    "OfDocument",
    "OfRun",
    "Rows",
    "read",
]


class _Params(msgspec.Struct, frozen=True, rename="camel"):
    """Fields that nobody knows are left alone: a client may be newer."""


class Nothing(_Params, frozen=True):
    """No parameters."""


class About(_Params, frozen=True):
    """A listing, or a virtual document."""

    uri: str


class Normalized(_Params, frozen=True):
    """A listing, and the one that it is to be compared with."""

    uri: str
    like: str | None = None


class Diff(_Params, frozen=True):
    """Two listings."""

    old: str
    new: str


class Rows(_Params, frozen=True):
    """Which rows of the table of a listing, and in which order."""

    uri: str
    sort: Column = Column.NODE
    descending: bool = False
    search: str = ""
    first: int = 0
    count: int | None = None


class OfRun(_Params, frozen=True):
    """A run, by its id."""

    run: str


class _TextDocument(_Params, frozen=True):
    uri: str


class OfDocument(_Params, frozen=True):
    """A document, as the protocol names it."""

    text_document: _TextDocument


PARAMS: dict[str, type[_Params]] = {
    custom.CONTENT: About,
    custom.DELETE: About,
    custom.DIFF: Diff,
    custom.GRAPH: About,
    custom.IDENTITIES: Nothing,
    custom.LISTINGS: OfDocument,
    custom.NORMALIZED: Normalized,
    custom.REVISIONS: About,
    custom.ROWS: Rows,
    custom.RUN: OfRun,
    custom.RUN_LIST: Nothing,
    custom.TIMES: About,
}


def read(method: str, params: object) -> Any:
    """The parameters of a request of ours.

    Raises `msgspec.ValidationError`, or `UnicodeError` for texts that are none.
    """
    return msgspec.convert({} if params is None else params, PARAMS[method])
