"""The life of the server: what a client can do, its settings, commands, the end."""

from __future__ import annotations

import asyncio
from typing import cast

from lsprotocol import types as lsp
from msgspec.structs import replace

from fxls.entry import Entry, Kind
from fxls.ide.text_document_content import table_sheet
from fxls.lsp import custom
from fxls.lsp.abilities import abilities_of
from fxls.lsp.client import Client
from fxls.lsp.encoding import Encoding
from fxls.lsp.uris import path_of, uri_of
from fxls.serving.connection import Connection
from fxls.serving.faults import task_with_faults_logged
from fxls.serving.handlers.request_place import document_of
from fxls.serving.handlers.tracing import check_and_trace, trace_entries
from fxls.serving.settings import SettingsError, read_settings
from fxls.store import StoreError

__all__ = [
    "on_did_change_configuration",
    "on_did_change_folders",
    "on_initialize",
    "on_initialized",
    "on_open",
    "on_shutdown",
    "on_table",
    "on_trace",
]


def on_initialize(ls: Connection, params: lsp.InitializeParams) -> None:
    encoding = Encoding(ls.workspace.position_encoding or Encoding.UTF16.value)
    ls.client = Client(abilities_of(params.capabilities, encoding))
    _set(ls, "initializationOptions", params.initialization_options)
    _set_folders(ls)
    if ls.client.abilities.takes_runs:
        # What comes from this moment on is news.
        ls.session.library.news_of_runs(ls.session.library.record_lengths())


async def on_initialized(ls: Connection, params: object) -> None:
    if ls.client.abilities.takes_changes or ls.client.abilities.takes_runs:
        ls.watch()
    if ls.client.abilities.watches_files:
        globs = ("**/*.py", "**/pyproject.toml")
        watchers = [lsp.FileSystemWatcher(glob) for glob in globs]
        options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
        method = lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = lsp.Registration("fxls-files", method, options)
        await ls.client_register_capability_async(
            lsp.RegistrationParams([registration])
        )


async def on_did_change_configuration(
    ls: Connection, params: lsp.DidChangeConfigurationParams
) -> None:
    if ls.client.abilities.tells_settings:
        items = [lsp.ConfigurationItem(section="fxls")]
        (said,) = await ls.workspace_configuration_async(lsp.ConfigurationParams(items))
    else:
        whole = cast("dict[str, object] | None", params.settings)
        said = (whole or {}).get("fxls")
    before = ls.session.settings
    if said is None or not _set(ls, "settings", said) or ls.session.settings == before:
        return
    now = ls.session.settings
    if (now.python, now.folders) != (before.python, before.folders):
        ls.session.tried.clear()
        await ls.session.traces.close()
    _set_folders(ls)  # their stores may be others
    ls.refresh()
    if ls.session.settings.remarks is not before.remarks:
        ls.publish(*ls.open_paths)
    for path in ls.open_paths:
        check_and_trace(ls, path)


def on_did_change_folders(
    ls: Connection, params: lsp.DidChangeWorkspaceFoldersParams
) -> None:
    session, library = ls.session, ls.session.library
    folders, known = session.folders, {*library.forwards()}
    _set_folders(ls)
    left = [folder for folder in folders if folder not in session.folders]
    ls.publish_and_refresh(*session.leave(left), *ls.open_paths)
    library.leave(left)
    if left:
        ls.start(asyncio.ensure_future(session.traces.leave(left)))
    ls.tell_changed(sorted(known.symmetric_difference(library.forwards())))
    # What is open may lie in a folder that is trusted now.
    check_and_trace(ls, *ls.open_paths)


async def on_shutdown(ls: Connection, params: object) -> None:
    ls.unwatch()
    ls.wake(changed=False)
    for task in ls.tasks:
        task.cancel()
    await asyncio.gather(*ls.tasks, return_exceptions=True)
    # Nobody is there any more to be told how the workers are.
    ls.client = Client()
    ls.session.library.close()
    await ls.session.traces.close()


# Commands


async def on_trace(ls: Connection, uri: str = "", *expressions: str) -> list[object]:
    path = path_of(uri)
    if path is None:
        return []
    found = ls.session.entries(path)
    if expressions:
        known = {entry.name: entry for entry in found}
        asked = (Entry(path, text, Kind.COMMAND) for text in expressions)
        found = tuple(known.get(entry.name, entry) for entry in asked)
    return [custom.plainly(item) for item in await trace_entries(ls, found)]


async def on_open(ls: Connection, uri: str, line: int, character: int) -> bool:
    """Whether the client showed it."""
    place = lsp.Position(line, character)
    shown = await ls.window_show_document_async(
        lsp.ShowDocumentParams(uri, take_focus=True, selection=lsp.Range(place, place))
    )
    return shown.success


async def on_table(ls: Connection, uri: str) -> str | None:
    """The URI of the table of a listing, which the client also shows, if it can."""
    document = document_of(ls, uri)
    if document is None:
        return None
    abilities = ls.client.abilities
    if abilities.reads_content:
        there = ls.session.library.uri_about(document, "table.txt")
    else:
        written = ls.session.library.write_table(document, table_sheet(document).text)
        if isinstance(written, StoreError):
            ls.log(lsp.MessageType.Error, str(written))
            return None
        there = uri_of(written)
    if abilities.shows_documents:
        await task_with_faults_logged(on_open)(ls, there, 0, 0)
    return there


def _set(ls: Connection, name: str, said: object) -> bool:
    """Take settings for those of the session; False when they are no settings."""
    try:
        settings = read_settings(said, ls.session.settings, name)
    except SettingsError as error:
        ls.log(lsp.MessageType.Error, f"{error}; they stay as they were")
        return False
    folders = {path_of(uri) or uri: one for uri, one in settings.folders.items()}
    ls.session.settings = replace(settings, folders=folders)
    return True


def _set_folders(ls: Connection) -> None:
    folders = (path_of(folder.uri) for folder in ls.workspace.folders.values())
    known = tuple(folder for folder in folders if folder is not None)
    root = ls.workspace.root_path
    ls.session.folders = known or ((root,) if root else ())
    for folder in ls.session.folders:
        ls.session.library.store_in(folder)
