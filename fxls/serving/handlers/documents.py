"""Documents that are opened, changed, saved, renamed; and those that are in no file."""

from __future__ import annotations

from lsprotocol import types as lsp

from fxls.ide.text_document_content import Sheet
from fxls.lsp.uris import path_of
from fxls.serving.connection import Connection
from fxls.serving.handlers.tracing import check_and_trace, trace_again

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
        ls.publish(path)
        check_and_trace(ls, path)


def on_did_change(ls: Connection, params: lsp.DidChangeTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    if path is not None:
        # The diagnostics of a listing say whether it is still the generated text.
        ls.publish(path)
        ls.check_soon(path)


def on_did_save(ls: Connection, params: lsp.DidSaveTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    if path is not None:
        ls.publish(*ls.open_paths)
        check_and_trace(ls, path)


def on_did_close(ls: Connection, params: lsp.DidCloseTextDocumentParams) -> None:
    path = ls.closed(params.text_document.uri)
    if path is not None:
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
        if change.type is lsp.FileChangeType.Deleted:
            _gone(ls, change.uri)
        elif path.endswith("pyproject.toml"):
            for source in ls.open_paths:
                check_and_trace(ls, source)
        elif path not in ls.open_paths:
            # A file that is open is looked at when it is saved.
            trace_again(ls, ls.session.traces.made_of(path))
    ls.publish(*ls.open_paths)


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


def _gone(ls: Connection, uri: str) -> None:
    path = path_of(uri)
    if path is not None:
        ls.publish(path, *ls.session.forget(path))
