"""Inputs that fit a model: looked for before an entry is written, and when one fails."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator

from lsprotocol import types as lsp

from fxls.entry import Entry, Kind
from fxls.ide.edits.fix import Edit, Fix
from fxls.ide.entries.blanks import blanks
from fxls.listing import Reason
from fxls.lsp import custom
from fxls.lsp.actions import changes
from fxls.lsp.uris import path_of, uri_of
from fxls.serving.connection import Connection
from fxls.serving.handlers.tracing import with_progress
from fxls.text import Span
from fxls.wire import Failed, Fitted

__all__ = ["fitting", "fitting_actions", "on_fit_entry"]


async def fitting(ls: Connection, path: str, expression: str, text: str) -> str | None:
    """An entry of a file with this text, with example inputs that fit.

    None when none was found, and when the file may not be run unasked.
    """
    session = ls.session
    if not session.may_trace(path) or session.work_unasked(path):
        return None
    if next(blanks(ast.parse(expression, mode="eval").body, ""), None):
        return None
    outcome = await _outcome(ls, Entry(path, expression, Kind.COMMAND), text)
    if isinstance(outcome, Failed):
        ls.log(lsp.MessageType.Info, f"{expression}: {outcome.failure.message}")
    return outcome.expression if isinstance(outcome, Fitted) else None


async def _outcome(ls: Connection, entry: Entry, text: str) -> Fitted | Failed | None:
    """What comes of a search; None when somebody stops it."""
    task = asyncio.ensure_future(ls.session.fit(entry, text))
    ls.started_by(ls.protocol.msg_id, task)
    return await with_progress(ls, "Looking for inputs that fit", entry, task)


def fitting_actions(ls: Connection, path: str, span: Span) -> list[lsp.CodeAction]:
    """What looks for other inputs of the entries that failed on theirs, in a span."""
    found = dict.fromkeys(
        entry
        for one in ls.session.failures(path)
        if (entry := one.entry) is not None and one.reason is Reason.RUN
        if one.span.meets(span) or (entry.path == path and _is_at(entry, span))
    )
    return [
        lsp.CodeAction(_title(entry), lsp.CodeActionKind.QuickFix, command=command)
        for entry in found
        if entry.kind is Kind.COMMENT and ls.session.may_trace(entry.path)
        for command in _commands(ls, entry)
    ]


async def on_fit_entry(ls: Connection, uri: str, expression: str) -> bool:
    """Whether an entry comment has inputs now with which a call of its model runs."""
    path = path_of(uri)
    text = None if path is None else ls.session.text_of(path)
    if path is None or text is None or not ls.session.may_trace(path):
        return False
    entry = _comment(ls, path, expression)
    outcome = None if entry is None else await _outcome(ls, entry, text)
    if outcome is None:
        return False
    found = outcome.expression if isinstance(outcome, Fitted) else None
    if found is None:
        say = f"fxls: no inputs were found with which {expression} runs"
        if isinstance(outcome, Failed):
            say += f": {outcome.failure.message}"
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, say))
        return False
    # Somebody may have gone on writing meanwhile.
    lines, entry = ls.session.lines_of(path), _comment(ls, path, expression)
    if lines is None or entry is None or entry.span is None:
        return False
    fix = Fix(_title(entry), path, (Edit(entry.span, found),))
    edit = changes(ls.client, fix, lines, ls.uri_of(path))
    answer = await ls.workspace_apply_edit_async(
        lsp.ApplyWorkspaceEditParams(edit, label=fix.title)
    )
    return answer.applied


def _is_at(entry: Entry, span: Span) -> bool:
    return entry.span is not None and entry.span.meets(span)


def _title(entry: Entry) -> str:
    return f"Look for inputs with which {entry.expression} runs"


def _commands(ls: Connection, entry: Entry) -> Iterator[lsp.Command]:
    """The command of an action; none where the entry is not written in one piece."""
    if _comment(ls, entry.path, entry.expression) is not None:
        arguments = [uri_of(entry.path), entry.expression]
        yield lsp.Command(_title(entry), custom.FIT_ENTRY, arguments=arguments)


def _comment(ls: Connection, path: str, expression: str) -> Entry | None:
    """The entry comment that has an expression, as it is written now."""
    lines = ls.session.lines_of(path)
    if lines is None:
        return None
    for entry in ls.session.entries(path):
        is_it = entry.kind is Kind.COMMENT and entry.expression == expression
        if is_it and entry.span and lines.slice(entry.span) == expression:
            return entry
    return None
