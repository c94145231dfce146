"""Documents that are opened, changed, saved, renamed; and those that are in no file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from lsprotocol import types as lsp

from fxls.entry import Entry
from fxls.ide.text_document_content import Sheet
from fxls.lsp.uris import path_of
from fxls.serving.connection import Connection
from fxls.serving.faults import with_faults_logged
from fxls.serving.handlers.tracing import check_and_trace
from fxls.serving.made_first import begun_for_good

__all__ = [
    "content",
    "on_did_change",
    "on_did_change_watched_files",
    "on_did_close",
    "on_did_delete_files",
    "on_did_open",
    "on_did_rename_files",
    "on_did_save",
    "on_text_document_content",
]


def on_did_open(ls: Connection, params: lsp.DidOpenTextDocumentParams) -> None:
    path = ls.opened(params.text_document.uri)
    if path is not None:
        ls.session.library.look(path)
        ls.publish(path)
        begun_for_good()
        check_and_trace(ls, path)


def on_did_change(ls: Connection, params: lsp.DidChangeTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    if path is None:
        return
    if path in ls.behind_disk and ls.session.is_saved(path):
        # The editor has read what somebody else wrote; nobody will save that.
        _catch_up(ls, path)
        return
    # The diagnostics of a listing say whether it is still the generated text.
    ls.publish(path)
    ls.check_soon(path)


def on_did_save(ls: Connection, params: lsp.DidSaveTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    if path is not None:
        ls.publish(*ls.open_paths)
        _catch_up(ls, path)


def on_did_close(ls: Connection, params: lsp.DidCloseTextDocumentParams) -> None:
    path = ls.closed(params.text_document.uri)
    if path is not None:
        ls.behind_disk.discard(path)
        ls.publish(path, *ls.session.forget(path))


def on_did_rename_files(ls: Connection, params: lsp.RenameFilesParams) -> None:
    for file in params.files:
        _gone(ls, file.old_uri)
        path = path_of(file.new_uri)
        if path in ls.open_paths:
            check_and_trace(ls, path)


def on_did_delete_files(ls: Connection, params: lsp.DeleteFilesParams) -> None:
    for file in params.files:
        _gone(ls, file.uri)


def on_did_change_watched_files(
    ls: Connection, params: lsp.DidChangeWatchedFilesParams
) -> None:
    for change in params.changes:
        path = path_of(change.uri)
        if path is None or ls.session.is_listing(path):
            continue
        is_new = change.type is lsp.FileChangeType.Created
        settled = partial(with_faults_logged(_settle), ls)
        ls.disk_changes.add(path, settled, is_new=is_new)


def on_text_document_content(
    ls: Connection, params: lsp.TextDocumentContentParams
) -> lsp.TextDocumentContentResult:
    return lsp.TextDocumentContentResult(content(ls, params.uri))


def content(ls: Connection, uri: str) -> str:
    """The text of a virtual document."""
    found = ls.session.library.virtual(uri)
    if found is None:
        return f"# There is no listing at {uri} any more.\n"
    return found.text if isinstance(found, Sheet) else found.listing.text


def _settle(ls: Connection, changed: Mapping[str, bool]) -> None:
    """Trace what is made of files that somebody else made, changed or deleted."""
    opened = ls.open_paths
    gone = [path for path in changed if not os.path.lexists(path)]
    paths = [path for path in changed if path not in gone]
    others = _forget(ls, *gone) if gone else []
    if any(changed[path] for path in paths):
        # It may be what an import did not find.
        others += ls.session.traces.unimported
    if any(path.endswith("pyproject.toml") for path in paths):
        check_and_trace(ls, *opened)
    behind = {p for p in paths if p in opened and not ls.session.is_saved(p)}
    ls.behind_disk |= behind
    check_and_trace(
        ls,
        *(
            path
            for path in paths
            if path not in behind
            # A save of this editor's is reported as well.
            if path not in opened or not ls.session.is_checked(path)
        ),
        others=others,
    )
    ls.publish(*opened)
    ls.tell_aged(changed)


def _catch_up(ls: Connection, path: str) -> None:
    """The text in the editor is that on the disk: trace it."""
    ls.behind_disk.discard(path)
    check_and_trace(ls, path)
    ls.tell_aged((path,))


def _gone(ls: Connection, uri: str) -> None:
    path = path_of(uri)
    if path is not None:
        check_and_trace(ls, others=_forget(ls, path))
        ls.tell_aged((path,))


def _forget(ls: Connection, *paths: str) -> list[Entry]:
    """Files are gone: what was made of them is gone, or old, for all that is open.

    Returns the entries of other files that imported them.
    """
    traces = ls.session.traces
    said = [about for path in paths for about in ls.session.forget(path)]
    ls.publish_and_refresh(*paths, *said, *ls.open_paths)
    made = [entry for path in paths for entry in traces.made_of(path)]
    return [entry for entry in made if entry.path not in paths]
