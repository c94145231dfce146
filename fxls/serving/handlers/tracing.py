"""Tracing for a client: when, with what progress, and what it is told of the end."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import PurePath
from typing import Any, TypeVar, cast

from lsprotocol import types as lsp

from fxls.entry import Entry
from fxls.ide.syntax.import_work import ImportWork
from fxls.listing import Failure, Reason
from fxls.lsp import custom
from fxls.serving.connection import Connection
from fxls.serving.faults import task_with_faults_logged
from fxls.serving.settings import Programs
from fxls.wire import Failed

__all__ = ["check_and_trace", "trace_entries", "with_progress"]

_Outcome = TypeVar("_Outcome")


def check_and_trace(ls: Connection, *paths: str, others: Iterable[Entry] = ()) -> None:
    """Check the entries of open sources; trace those, what imports any source, and
    the others.

    An entry that several of them lead to is traced once, where that is allowed.
    """
    found = [*others]
    for path in paths:
        if not path.endswith(".py") or ls.session.is_listing(path):
            continue
        made = ls.session.traces.made_of(path)
        if path in ls.open_paths:
            ls.publish(*ls.session.check(path))
            made = (*ls.session.entries(path), *made)
        found += made
    _trace_where_allowed(ls, {(one.path, one.name): one for one in found}.values())


def _trace_where_allowed(ls: Connection, found: Iterable[Entry]) -> None:
    """Trace entries that nobody asked for."""
    session = ls.session
    trusted = [entry for entry in found if session.may_trace(entry.path)]
    paths = dict.fromkeys(entry.path for entry in trusted)
    held = {path: work for path in paths if (work := session.work_unasked(path))}
    allowed = [entry for entry in trusted if entry.path not in held]
    if allowed:
        ls.start(
            asyncio.ensure_future(task_with_faults_logged(trace_entries)(ls, allowed))
        )
    can_ask = ls.client.abilities.asks_questions
    if can_ask and session.settings.programs is Programs.ASK:
        for path, work in held.items():
            if path in ls.open_paths and session.programs.is_first(path, work):
                asking = task_with_faults_logged(_ask)(ls, path, work)
                ls.start(asyncio.ensure_future(asking))


async def _ask(ls: Connection, path: str, work: ImportWork) -> None:
    """Ask whether a file that does work when it is imported shall be run."""
    name, line = PurePath(path).name, work.span.start.line + 1
    question = (
        f"fxls: {name} {work.does} when it is imported (line {line}). To trace its"
        " models, fxls has to import it."
    )
    params = lsp.ShowMessageRequestParams(
        lsp.MessageType.Warning, question, [lsp.MessageActionItem(_RUN), _LEAVE]
    )
    answer = await ls.window_show_message_request_async(params)
    if answer is not None and answer.title == _RUN:
        ls.session.programs.allow(path, work)
        check_and_trace(ls, path)


_RUN = "Import and trace it"
_LEAVE = lsp.MessageActionItem("Leave it alone")


async def trace_entries(
    ls: Connection, found: Sequence[Entry]
) -> list[custom.TracedItem]:
    """Trace entries, and tell the client what became of each."""
    request = ls.protocol.msg_id
    tasks = [asyncio.ensure_future(_trace(ls, entry)) for entry in found]
    for task in tasks:
        ls.started_by(request, task)
    return list(await asyncio.gather(*tasks))


async def _trace(ls: Connection, entry: Entry) -> custom.TracedItem:
    task = asyncio.ensure_future(ls.session.trace(entry))
    outcome = await with_progress(ls, "Tracing", entry, task)
    if outcome is None:
        stopped = Failure(Reason.STOPPED, "it was cancelled")
        return custom.TracedItem.failed(entry.name, stopped)
    ls.publish(*ls.session.settle(entry, outcome))
    ls.tell_news()
    if isinstance(outcome, Failed):
        return custom.TracedItem.failed(entry.name, outcome.failure)
    message = f"{entry.name}: {outcome.path} ({outcome.seconds:.2f} s)"
    ls.log(lsp.MessageType.Info, message)
    trouble = outcome.trouble
    if trouble is not None and trouble.instead is not None:
        trouble = None  # there is what was asked for
    return custom.TracedItem.traced(entry.name, outcome.path, trouble)


async def with_progress(
    ls: Connection, title: str, entry: Entry, task: asyncio.Task[_Outcome]
) -> _Outcome | None:
    """What becomes of an entry, with progress meanwhile; None when its button stops it."""
    if ls.client.abilities.shows_progress:
        ls.start(
            asyncio.ensure_future(
                task_with_faults_logged(_show)(ls, title, entry, task)
            )
        )
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is None or current.cancelling():
            raise
        # Somebody pressed the button.
        return None


async def _show(
    ls: Connection, title: str, entry: Entry, task: asyncio.Task[Any]
) -> None:
    token = str(uuid.uuid4())
    progress = cast("Any", ls.work_done_progress)  # pygls leaves half of it untyped
    await progress.create_async(token)
    if task.done():
        del progress.tokens[token]
        return
    begin = lsp.WorkDoneProgressBegin(title, cancellable=True, message=entry.name)
    progress.begin(token, begin)
    stop: Future[object] = progress.tokens[token]
    stop.add_done_callback(lambda _: task.cancel())
    await asyncio.wait({task})
    progress.end(token, lsp.WorkDoneProgressEnd())
    del progress.tokens[token]
