"""The language server: which handler answers which method, and over what it speaks.

Imports no torch and runs no code of the user's. Standard output is the protocol: it
is moved away before anything could print to it.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, cast

from lsprotocol import types as lsp

from fxls.host.early_worker import EarlyWorker
from fxls.lsp import custom
from fxls.lsp.semantic_tokens import LEGEND
from fxls.serving.connection import Connection
from fxls.serving.faults import task_with_faults_logged, with_faults_logged
from fxls.serving.handlers import (
    actions,
    diagnostics,
    documents,
    fitting,
    graphs,
    navigation,
    passes,
    repairs,
    runs,
    structure,
    times,
    writing,
)
from fxls.serving.handlers import lifecycle as life
from fxls.serving.handlers.aside import begun_again
from fxls.serving.settings import Settings
from fxls.serving.transport.protocol import ListingProtocol, quietly
from fxls.serving.transport.read_ahead import ReadAhead

__all__ = ["connection_of", "serve_stdio", "serve_tcp"]

_EVENTS: dict[str, Callable[[Connection, Any], object]] = {
    lsp.INITIALIZE: life.on_initialize,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: life.on_did_change_folders,
    lsp.TEXT_DOCUMENT_DID_OPEN: documents.on_did_open,
    lsp.TEXT_DOCUMENT_DID_CHANGE: documents.on_did_change,
    lsp.TEXT_DOCUMENT_DID_SAVE: documents.on_did_save,
    lsp.TEXT_DOCUMENT_DID_CLOSE: documents.on_did_close,
    lsp.WORKSPACE_DID_RENAME_FILES: documents.on_did_rename_files,
    lsp.WORKSPACE_DID_DELETE_FILES: documents.on_did_delete_files,
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: documents.on_did_change_watched_files,
    custom.DELETE: graphs.on_delete,
}

_ANSWERS: dict[str, Callable[[Connection, Any], object]] = {
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: documents.on_text_document_content,
    custom.CONTENT: graphs.on_content,
    custom.IDENTITIES: graphs.on_identities,
    custom.LISTINGS: graphs.on_listings,
    custom.REVISIONS: graphs.on_revisions,
    custom.RUN: runs.on_run,
    custom.RUN_LIST: runs.on_runs,
    lsp.TEXT_DOCUMENT_HOVER: navigation.on_hover,
    lsp.TEXT_DOCUMENT_DEFINITION: navigation.on_definition,
    lsp.TEXT_DOCUMENT_DECLARATION: navigation.on_declaration,
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: navigation.on_type_definition,
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: navigation.on_implementation,
    lsp.TEXT_DOCUMENT_REFERENCES: navigation.on_references,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: navigation.on_document_highlight,
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: structure.on_selection_range,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: structure.on_semantic_tokens_range,
    lsp.TEXT_DOCUMENT_INLINE_VALUE: structure.on_inline_value,
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: structure.on_prepare_call_hierarchy,
    lsp.CALL_HIERARCHY_INCOMING_CALLS: structure.on_incoming_calls,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: structure.on_outgoing_calls,
    lsp.WORKSPACE_SYMBOL: structure.on_workspace_symbol,
    lsp.WORKSPACE_SYMBOL_RESOLVE: structure.on_resolve_symbol,
    lsp.TEXT_DOCUMENT_INLAY_HINT: actions.on_inlay_hint,
    lsp.INLAY_HINT_RESOLVE: actions.on_resolve_hint,
    lsp.TEXT_DOCUMENT_CODE_LENS: actions.on_code_lens,
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: actions.on_document_link,
    lsp.TEXT_DOCUMENT_COMPLETION: actions.on_completion,
    lsp.TEXT_DOCUMENT_CODE_ACTION: actions.on_code_action,
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: diagnostics.on_diagnostic,
}
"""What tells the client something and changes nothing, so that it can be begun again."""

_LONG_ANSWERS: dict[str, Callable[[Connection, Any], Awaitable[object]]] = {
    custom.DIFF: graphs.on_diff,
    custom.GRAPH: graphs.on_graph,
    custom.NORMALIZED: graphs.on_normalized,
    custom.ROWS: graphs.on_rows,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: structure.on_document_symbol,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: structure.on_folding_range,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: structure.on_semantic_tokens,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: structure.on_semantic_tokens_delta,
}
"""The same, made aside."""

_TASKS: dict[str, Callable[[Connection, Any], Awaitable[object]]] = {
    custom.TIMES: times.on_times,
    lsp.INITIALIZED: life.on_initialized,
    lsp.SHUTDOWN: life.on_shutdown,
    lsp.WORKSPACE_DIAGNOSTIC: diagnostics.on_workspace_diagnostic,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: life.on_did_change_configuration,
}

_COMMANDS: dict[str, Callable[..., Awaitable[Any]]] = {
    custom.TRACE: life.on_trace,
    custom.OPEN: life.on_open,
    custom.TABLE: begun_again(life.on_table),
    custom.FIT_ENTRY: fitting.on_fit_entry,
    custom.WRITE_ENTRY: writing.on_write_entry,
    custom.FIRST_PASS: passes.on_first_pass,
    custom.GUARDS: passes.on_guards,
    custom.TRY_REPAIRS: repairs.on_try_repairs,
}

_SOURCES = lsp.FileOperationRegistrationOptions(
    [lsp.FileOperationFilter(lsp.FileOperationPattern("**/*.py"), "file")]
)

_OPTIONS: dict[str, object] = {
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: LEGEND,
    lsp.TEXT_DOCUMENT_COMPLETION: lsp.CompletionOptions(["#", " ", "(", ",", "."]),
    lsp.TEXT_DOCUMENT_CODE_ACTION: lsp.CodeActionOptions(
        [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.Refactor]
    ),
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier="fxls"
    ),
    lsp.WORKSPACE_DID_RENAME_FILES: _SOURCES,
    lsp.WORKSPACE_DID_DELETE_FILES: _SOURCES,
}


def connection_of(settings: Settings, early: EarlyWorker | None = None) -> Connection:
    """The connection to a client that may set other settings, with every handler."""
    connection = Connection(settings, early)
    for method, handler in {**_EVENTS, **_ANSWERS}.items():
        connection.feature(method, _OPTIONS.get(method))(with_faults_logged(handler))
    long_answers = {method: begun_again(task) for method, task in _LONG_ANSWERS.items()}
    for method, task in {**long_answers, **_TASKS}.items():
        connection.feature(method, _OPTIONS.get(method))(task_with_faults_logged(task))
    assert isinstance(connection.protocol, ListingProtocol)
    # Of what opens a document all happens once, but that it is noted.
    connection.protocol.answers = frozenset((*_ANSWERS, lsp.TEXT_DOCUMENT_DID_OPEN))
    for command, run in _COMMANDS.items():
        answer: Callable[..., Awaitable[Any]] = task_with_faults_logged(run)
        connection.command(command)(answer)
    return connection


def serve_stdio(*, store: str | None = None, early: EarlyWorker | None = None) -> None:
    """Serve the client at the other end of standard input and output."""
    _begin()
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever prints, a library or a child, must not reach the protocol.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    connection = connection_of(Settings(store=store), early)
    messages = ReadAhead(sys.stdin.fileno())
    assert isinstance(connection.protocol, ListingProtocol)
    connection.protocol.given_up = messages.given_up
    connection.protocol.end_of_input = messages.end
    connection.start_io(stdin=cast("BinaryIO", messages), stdout=answers)
    if connection.protocol.exited_early:
        raise SystemExit(1)


def serve_tcp(host: str, port: int, *, store: str | None = None) -> None:
    """Serve the first client that connects."""
    _begin()
    # It says which port it got when it was asked for any.
    logging.getLogger("pygls.server").setLevel(logging.INFO)
    connection_of(Settings(store=store)).start_tcp(host, port)


def _begin() -> None:
    """What is the same for every client."""
    # An answer about a hundred thousand nodes is a million objects, none of which
    # refers back: Python would look through all of them again and again.
    gc.set_threshold(100_000, 20, 50)
    # A request passes through some ten hands, from the thread that reads it to the one
    # that writes its answer, and waits as long for each while a thread makes a long one;
    # so does each look at the disk. A thread that nobody waits for is not interrupted.
    sys.setswitchinterval(0.0001)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(quietly)
