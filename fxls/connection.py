"""The connection to one client, and what is known for it.

What several handlers share stands here: which document a request is about, what is
published, and tracing with progress.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol, cast

from lsprotocol import types as lsp
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer

from fxls import __version__
from fxls.entry import Entry
from fxls.faults import guarded_task
from fxls.ide.diagnostics import Diagnostic
from fxls.ide.document import Document
from fxls.ide.sheets import Sheet
from fxls.library import virtual_uri
from fxls.listing import Failure, Reason
from fxls.lsp import custom, from_lsp
from fxls.lsp.protocol import ListingProtocol
from fxls.lsp.reports import Reports
from fxls.lsp.settings import Settings
from fxls.lsp.to_lsp import Client
from fxls.lsp.uris import SCHEME, path_of, uri_of
from fxls.session import Session
from fxls.text import LineTable, Point
from fxls.traces import Health, Traces
from fxls.wire import Failed

__all__ = [
    "Asked",
    "Positioned",
    "Server",
    "asked",
    "document_of",
    "look_at",
    "trace_again",
    "traced",
]

_POLL = 1.0
"""Seconds between two looks at the logs of the stores, which programs write too."""


_PAUSE = 0.3
"""Seconds without a key before what is being written is checked."""


class Positioned(Protocol):
    """The parameters of every request about a place."""

    text_document: lsp.TextDocumentIdentifier
    position: lsp.Position


class Asked(NamedTuple):
    """A place that the client asks about."""

    path: str
    lines: LineTable
    point: Point
    document: Document | None
    """The listing, when the place is in one; else it is in a source."""


class Server(LanguageServer):
    """The connection to one client."""

    def __init__(self, settings: Settings) -> None:
        # Whole texts, because a model file is small, and pygls and the protocol do
        # not agree on what ends a line.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls: **kwargs
            "fxls",
            __version__,
            lsp.TextDocumentSyncKind.Full,
            protocol_cls=ListingProtocol,
        )
        assert isinstance(self.protocol, ListingProtocol)
        self.protocol.on_cancel = self.cancel
        traces = Traces(self._on_printed, self._on_health)
        self.session = Session(settings, self._open_text, traces)
        self.client = Client()
        self.tasks: set[asyncio.Task[object]] = set()
        self._requests: dict[str | int, set[asyncio.Task[Any]]] = {}
        self._uris: dict[str, str] = {}
        self.reports = Reports()
        self._waiting: asyncio.Future[bool] | None = None
        self._pulls_workspace = False
        self._health = Health()
        self._poll: asyncio.TimerHandle | None = None
        self._checks: dict[str, asyncio.TimerHandle] = {}

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what pygls could not handle; a pop-up would help nobody."""
        # A request gets its error as the answer.
        if source is not FeatureRequestError:
            self.log(lsp.MessageType.Error, str(error))

    def opened(self, uri: str) -> str | None:
        """Note how the client spells a path; None when it is no file."""
        path = path_of(uri)
        if path is not None:
            pushed = self.reports.said(path) and not self._is_pulled(path)
            if pushed and self.client.abilities.pulls_diagnostics:
                self._push(path, ())
            self._uris[path] = uri
            self.watch()
        return path

    def closed(self, uri: str) -> str | None:
        path = path_of(uri)
        if path is not None:
            self._uris.pop(path, None)
            if self.client.abilities.pulls_diagnostics:
                # What it was told of an open file it shows no more.
                self.reports.forget(path)
        return path

    @property
    def open_paths(self) -> tuple[str, ...]:
        return tuple(self._uris)

    def publish(self, *paths: str) -> None:
        """Send what there is to say about files, where that is not what was sent.

        A client that pulls diagnostics is told to ask for those of open files.
        """
        pulled: set[str] = set()
        for path in paths:
            said = self.session.diagnostics(path)
            if not self.reports.note(path, said):
                # A client moves what it shows along with edits; leave that be.
                continue
            if self._is_pulled(path):
                pulled.add(path)
            else:
                self._push(path, said)
        if pulled:
            self.wake(changed=True)
        if not pulled.isdisjoint(self._uris):
            self.workspace_diagnostic_refresh(None)

    def diagnostics(self, path: str) -> list[lsp.Diagnostic]:
        """What was noted about a file."""
        said = self.reports.said(path)
        return [self.client.diagnostic(d, self.session.lines_of) for d in said]

    def pulls_workspace(self) -> None:
        """Note that the client asks for the diagnostics of all files, open or not."""
        if not self._pulls_workspace:
            self._pulls_workspace = True
            for path in self.reports.changed(()):
                if path not in self._uris:
                    self._push(path, ())

    async def something_to_say(self) -> bool:
        """Wait until there are other diagnostics; False when somebody else waits."""
        self.wake(changed=False)
        self._waiting = asyncio.get_running_loop().create_future()
        return await self._waiting

    def wake(self, *, changed: bool) -> None:
        """End the wait for other diagnostics."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(changed)

    def uri_of(self, path: str) -> str:
        """A path as the client spells it."""
        return self._uris.get(path) or uri_of(path)

    def _is_pulled(self, path: str) -> bool:
        pulls = self.client.abilities.pulls_diagnostics
        return pulls and (self._pulls_workspace or path in self._uris)

    def _push(self, path: str, said: Iterable[Diagnostic]) -> None:
        items = [self.client.diagnostic(d, self.session.lines_of) for d in said]
        params = lsp.PublishDiagnosticsParams(self.uri_of(path), items)
        self.text_document_publish_diagnostics(params)

    def log(self, kind: lsp.MessageType, message: str) -> None:
        """Write to the log that the user can open."""
        self.window_log_message(lsp.LogMessageParams(kind, message))

    def start(self, task: asyncio.Task[Any]) -> None:
        """Keep a task until it is done, or the server ends."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def cancel(self, request: str | int) -> None:
        """Stop what a request started."""
        for task in self._requests.pop(request, ()):
            task.cancel()

    def started_by(self, request: str | int | None, task: asyncio.Task[Any]) -> None:
        """Note what has to stop when a request is cancelled."""
        if request is not None:
            self._requests.setdefault(request, set()).add(task)
            task.add_done_callback(lambda _: self._requests.pop(request, None))

    def watch(self) -> None:
        """Look at the stores from time to time, while somebody wants to know."""
        if self._poll is None:
            loop = asyncio.get_running_loop()
            self._poll = loop.call_later(_POLL, self._look)

    def unwatch(self) -> None:
        if self._poll is not None:
            self._poll.cancel()
        for check in self._checks.values():
            check.cancel()

    def check_soon(self, path: str) -> None:
        """Check the entry comments of a source when nobody is typing any more."""
        if not path.endswith(".py") or self.session.is_listing(path):
            return
        if path in self._checks:
            self._checks[path].cancel()
        loop = asyncio.get_running_loop()
        self._checks[path] = loop.call_later(_PAUSE, self._check, path)

    def tell_news(self) -> None:
        """Tell the client of what is new in the stores."""
        news = self.session.library.news()
        if not news:
            return
        self.publish(*self.open_paths)
        self.tell_changed(virtual_uri(one.identity) for one in news)
        for one in news:
            if one.old != one.new and self.client.abilities.takes_revisions:
                lines = self.session.library.lines_moved(one.old, one.new)
                revised = custom.Revised(uri_of(one.old), uri_of(one.new), lines)
                self.protocol.notify(custom.REVISED, custom.plainly(revised))
        self.refresh()

    def tell_changed(self, forwards: Iterable[str]) -> None:
        """Tell the client that identities have other revisions, or are gone.

        `forwards` are their virtual documents.
        """
        changed = [*dict.fromkeys(forwards)]
        if changed and self.client.abilities.takes_changes:
            item = custom.plainly(custom.Changed(changed))
            self.protocol.notify(custom.CHANGED, item)
        if self.client.abilities.reads_content:
            heads = tuple(uri.removesuffix("forward.py") for uri in changed)
            for uri in [*self.workspace.text_documents]:
                if uri.startswith(heads):
                    self.workspace_text_document_content_refresh(
                        lsp.TextDocumentContentRefreshParams(uri)
                    )

    def refresh(self) -> None:
        """Let the client ask again for what it was told before."""
        kinds = self.client.abilities.refreshes
        if "inlayHint" in kinds:
            self.workspace_inlay_hint_refresh(None)
        if "codeLens" in kinds:
            self.workspace_code_lens_refresh(None)
        if "semanticTokens" in kinds:
            self.workspace_semantic_tokens_refresh(None)

    def _check(self, path: str) -> None:
        del self._checks[path]
        if path in self._uris:
            self.publish(*self.session.check_comments(path))

    def _look(self) -> None:
        self._poll = None
        if self._uris or self.client.abilities.takes_changes:
            self.watch()
            self.tell_news()
            self._show_asked()

    def _show_asked(self) -> None:
        """Let the client show what programs ask to be shown."""
        asked = self.session.library.asked()
        if self.client.abilities.shows_documents:
            for path, line in asked:
                place = lsp.Position(line, 0)
                self.window_show_document(
                    lsp.ShowDocumentParams(
                        uri_of(str(path)),
                        # The program may run where somebody types.
                        take_focus=False,
                        selection=lsp.Range(place, place),
                    )
                )

    def _open_text(self, path: str) -> str | None:
        uri = self._uris.get(path)
        return self.workspace.get_text_document(uri).source if uri else None

    def _on_printed(self, entry: Entry | None, text: str) -> None:
        name = entry.name if entry else "worker"
        for line in text.splitlines():
            if line.strip():
                self.log(lsp.MessageType.Log, f"{name}: {line}")

    def _on_health(self, health: Health) -> None:
        before, self._health = self._health, health
        broken = health.broken
        if broken is not None and broken != before.broken:
            self.log(lsp.MessageType.Error, f"{broken.message}. {broken.advice or ''}")
        item, said = _status(health), _status(before)
        if self.client.abilities.takes_status and item != said:
            self.protocol.notify(custom.STATUS, custom.plainly(item))


def _status(health: Health) -> custom.StatusItem:
    quiescent = health.running == 0
    if health.broken is not None:
        message = f"{health.broken.message}. {health.broken.advice or ''}".strip()
        return custom.StatusItem("error", quiescent, message)
    return custom.StatusItem("ok", quiescent)


def document_of(ls: Server, uri: str) -> Document | None:
    """The listing that a URI names: a file of a store, or a virtual document."""
    if uri.startswith(f"{SCHEME}:"):
        found = ls.session.library.virtual(uri)
        return None if isinstance(found, Sheet) else found
    path = path_of(uri)
    return ls.session.document(path) if path else None


def asked(ls: Server, params: Positioned) -> Asked | None:
    """The place of a request; None when there is nothing to say about its file."""
    uri = params.text_document.uri
    path = path_of(uri)
    if path is not None and ls.session.trouble(path):
        return None
    document = document_of(ls, uri)
    if document is not None:
        path = document.path
    lines = document.lines if document else path and ls.session.lines_of(path)
    if not lines or path is None:
        return None
    point = from_lsp.point(params.position, lines, ls.client.encoding)
    return Asked(path, lines, point, document)


def look_at(ls: Server, path: str) -> None:
    """Check the entries of a source; trace those, and what imports it, when allowed."""
    if not path.endswith(".py") or ls.session.is_listing(path):
        return
    ls.publish(*ls.session.check(path))
    trace_again(ls, (*ls.session.entries(path), *ls.session.traces.made_of(path)))


def trace_again(ls: Server, found: Sequence[Entry]) -> None:
    """Trace entries that nobody asked for, where that is allowed."""
    allowed = [entry for entry in found if ls.session.may_trace(entry.path)]
    if allowed:
        ls.start(asyncio.ensure_future(guarded_task(traced)(ls, allowed)))


async def traced(ls: Server, found: Sequence[Entry]) -> list[custom.TracedItem]:
    """Trace entries, and tell the client what became of each."""
    request = ls.protocol.msg_id
    tasks = [asyncio.ensure_future(_trace(ls, entry)) for entry in found]
    for task in tasks:
        ls.started_by(request, task)
    return list(await asyncio.gather(*tasks))


async def _trace(ls: Server, entry: Entry) -> custom.TracedItem:
    task = asyncio.ensure_future(ls.session.trace(entry))
    if ls.client.abilities.shows_progress:
        ls.start(asyncio.ensure_future(guarded_task(_show)(ls, entry, task)))
    try:
        outcome = await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is None or current.cancelling():
            raise
        # Somebody pressed the button of the progress.
        stopped = Failure(Reason.STOPPED, "it was cancelled")
        return custom.TracedItem.failed(entry.name, stopped)
    ls.publish(*ls.session.settle(entry, outcome))
    ls.tell_news()
    if isinstance(outcome, Failed):
        return custom.TracedItem.failed(entry.name, outcome.failure)
    message = f"{entry.name}: {outcome.path} ({outcome.seconds:.2f} s)"
    ls.log(lsp.MessageType.Info, message)
    return custom.TracedItem.traced(entry.name, outcome.path, outcome.trouble)


async def _show(ls: Server, entry: Entry, task: asyncio.Task[Any]) -> None:
    """Show that an entry is being traced, with a button that stops it."""
    token = str(uuid.uuid4())
    progress = cast("Any", ls.work_done_progress)  # pygls leaves half of it untyped
    await progress.create_async(token)
    if task.done():
        return
    begin = lsp.WorkDoneProgressBegin("Tracing", cancellable=True, message=entry.name)
    progress.begin(token, begin)
    stop: Future[object] = progress.tokens[token]
    stop.add_done_callback(lambda _: task.cancel())
    await asyncio.wait({task})
    progress.end(token, lsp.WorkDoneProgressEnd())
    del progress.tokens[token]
