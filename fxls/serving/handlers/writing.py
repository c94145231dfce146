"""Writing an entry for a class: above it, or in a file of the user's."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types as lsp

from fxls.ide.entries.own_file import file_of_entry
from fxls.ide.entries.write_entry import written_entry
from fxls.lsp.actions import changes, new_file
from fxls.lsp.uris import path_of
from fxls.serving.connection import Connection
from fxls.serving.handlers.fitting import fitting
from fxls.serving.ownership import is_installed, package_path
from fxls.text import LineTable, Span

__all__ = ["on_write_entry"]


async def on_write_entry(ls: Connection, uri: str, name: str) -> bool:
    """Whether an entry comment for a class was written; the cursor goes there."""
    path = path_of(uri)
    text = None if path is None else ls.session.text_of(path)
    if path is not None and text is not None and is_installed(path):
        return await _write_own_file(ls, path, text, name)
    written = written_entry(text, path, name) if path and text is not None else None
    if path is None or text is None or written is None:
        return False
    expression = await fitting(ls, path, written.expression, text)
    # Somebody may have gone on writing meanwhile.
    text = ls.session.text_of(path) or ""
    written = written_entry(text, path, name, expression)
    if written is None:
        return False
    there = ls.uri_of(path)
    edit = changes(ls.client, written.fix, LineTable(text), there)
    answer = await ls.workspace_apply_edit_async(
        lsp.ApplyWorkspaceEditParams(edit, label=written.fix.title)
    )
    if answer.applied:
        await _show(ls, there, written.focus, LineTable(written.text))
    return answer.applied


async def _write_own_file(ls: Connection, path: str, text: str, name: str) -> bool:
    """The same for an installed class: the comment is in a new file of the user's."""
    own = file_of_entry(text, package_path(path) or "", name)
    if own is None:
        return False
    folder = next(iter(ls.session.folders), None)
    if folder is None or not ls.client.abilities.creates_files:
        lines = own.text.rstrip("\n")
        say = f"fxls: {name} is installed. To trace it, write in a file of yours:\n{lines}"
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, say))
        return False
    file = str(Path(folder, own.name))
    there = ls.uri_of(file)
    known = ls.session.lines_of(file)
    if known is not None:
        await _show(ls, there, Span.of(0, 0, 0, 0), known)
        return False
    expression = await fitting(ls, file, own.expression, own.text)
    own = file_of_entry(text, package_path(path) or "", name, expression) or own
    edit = lsp.ApplyWorkspaceEditParams(
        new_file(own.text, there), label=f"Write an entry for {name} in {own.name}"
    )
    answer = await ls.workspace_apply_edit_async(edit)
    if answer.applied:
        await _show(ls, there, own.focus, LineTable(own.text))
    return answer.applied


async def _show(ls: Connection, uri: str, span: Span, lines: LineTable) -> None:
    """Let the client show a span of a file, with the cursor there."""
    if ls.client.abilities.shows_documents:
        focus = ls.client.range(span, lines)
        await ls.window_show_document_async(
            lsp.ShowDocumentParams(uri, take_focus=True, selection=focus)
        )
