"""A long source is read in a thread before anybody sees it open."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

from lsprotocol import types as lsp

from fxls.ide.entries.entries import read_through
from fxls.lsp.uris import path_of
from fxls.serving.asides import Asides
from fxls.serving.faults import task_with_faults_logged

__all__ = ["long_text_read"]

_LONG = 50_000
"""Characters that take some 15 ms to parse, in which nobody else would be answered."""


def long_text_read(
    document: lsp.TextDocumentItem, is_listing: Callable[[str], bool], asides: Asides
) -> Awaitable[object] | None:
    """The reading of a source that an editor opens; None when that takes no time, and
    for listings, which nobody parses.
    """
    path = path_of(document.uri)
    if path is None or not path.endswith(".py") or len(document.text) < _LONG:
        return None
    if is_listing(path):
        return None
    return task_with_faults_logged(_read)(document.text, path, asides)


async def _read(text: str, path: str, asides: Asides) -> None:
    is_given_up = threading.Event()
    try:
        await asides.run(read_through, text, path, is_given_up.is_set)
    finally:
        # When the server ends, it waits for its threads.
        is_given_up.set()
