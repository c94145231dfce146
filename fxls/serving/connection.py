"""The connection to one client: what it has open, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer

from fxls import __version__
from fxls.entry import Entry
from fxls.host.early_worker import EarlyWorker
from fxls.ide.diagnostics import Diagnostic
from fxls.ide.listing.moved_lines import moved_lines
from fxls.listing import Reason
from fxls.lsp import custom
from fxls.lsp.client import Client
from fxls.lsp.uris import path_of, uri_of
from fxls.serving.asides import Asides
from fxls.serving.disk_changes import DiskChanges
from fxls.serving.faults import task_with_faults_logged
from fxls.serving.library import News
from fxls.serving.long_texts import long_text_read
from fxls.serving.made_first import Attempts, MadeFirst, NotYetMade
from fxls.serving.published import PublishedDiagnostics
from fxls.serving.session import Session
from fxls.serving.settings import Settings
from fxls.serving.tracing import Health, Traces
from fxls.serving.transport.protocol import ListingProtocol

__all__ = ["Connection"]

_POLL = 1.0
"""Seconds between two looks at the logs of the stores, which programs write too."""


_PAUSE = 0.3
"""Seconds without a key before what is being written is checked."""


class Connection(LanguageServer):
    """What the server holds of one client, and how it speaks to it.

    pygls calls this a server: it hands it to a handler as the first argument, by the
    name `ls`.
    """

    def __init__(self, settings: Settings, early: EarlyWorker | None = None) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls: **kwargs
            "fxls",
            __version__,
            lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=ListingProtocol,
        )
        assert isinstance(self.protocol, ListingProtocol)
        self.protocol.on_cancel = self.cancel
        self.protocol.before = self._before_opening
        self.asides = Asides()
        self.made_first = self.protocol.made_first = MadeFirst(self.asides)
        traces = Traces(self._on_printed, self._on_health, early)
        self.session = Session(settings, self._open_text, traces)
        self.client = Client()
        self.tasks: set[asyncio.Task[object]] = set()
        self._requests: dict[str | int, set[asyncio.Task[Any]]] = {}
        self._uris: dict[str, str] = {}
        self.published = PublishedDiagnostics()
        self._waiting: asyncio.Future[bool] | None = None
        self._pulls_workspace = False
        self._health = Health()
        self._poll: asyncio.TimerHandle | None = None
        self._checks: dict[str, asyncio.TimerHandle] = {}
        self.disk_changes = DiskChanges()
        self.behind_disk: set[str] = set()
        """Open files that are others on the disk, until the editor reads or saves them."""

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what pygls could not handle; a pop-up would help nobody."""
        # A request gets its error as the answer.
        if source is not FeatureRequestError:
            self.log(lsp.MessageType.Error, str(error))

    def _before_opening(
        self, document: lsp.TextDocumentItem
    ) -> Awaitable[object] | None:
        return long_text_read(document, self.session.is_listing, self.asides)

    def opened(self, uri: str) -> str | None:
        """Note how the client spells a path; None when it is no file."""
        path = path_of(uri)
        if path is not None:
            pushed = self.published.said(path) and not self._is_pulled(path)
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
                self.published.forget(path)
        return path

    @property
    def open_paths(self) -> tuple[str, ...]:
        return tuple(self._uris)

    def publish(self, *paths: str) -> None:
        """Send what there is to say about files, where that is not what was sent."""
        if self._publish(paths):
            self._refresh("codeLens")

    def publish_and_refresh(self, *paths: str) -> None:
        """The same, and let the client ask again for all else that it was told."""
        self._publish(paths)
        self.refresh()

    def _publish(self, paths: Iterable[str]) -> bool:
        """Send what is other; whether lenses are, which say the age of a listing too.

        A client that pulls diagnostics is told to ask for those of open files.
        """
        pulled: set[str] = set()
        is_lens_other = False
        for path in paths:
            said = self.session.diagnostics(path)
            aged = _age(said) != _age(self.published.said(path))
            if not self.published.note(path, said):
                # A client moves what it shows along with edits; leave that be.
                continue
            is_lens_other |= aged
            if self._is_pulled(path):
                pulled.add(path)
            else:
                self._push(path, said)
        if pulled:
            self.wake(changed=True)
        if not pulled.isdisjoint(self._uris):
            self.workspace_diagnostic_refresh(None)
        return is_lens_other

    def diagnostics(self, path: str) -> list[lsp.Diagnostic]:
        """What was noted about a file."""
        said = self.published.said(path)
        return [self.client.diagnostic(d, self.session.lines_of) for d in said]

    def pulls_workspace(self) -> None:
        """Note that the client asks for the diagnostics of all files, open or not."""
        if not self._pulls_workspace:
            self._pulls_workspace = True
            for path in self.published.changed(()):
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
        if request is None:
            return
        tasks = self._requests.setdefault(request, set())
        tasks.add(task)

        def done(task: asyncio.Task[Any]) -> None:
            tasks.discard(task)
            if not tasks:
                self._requests.pop(request, None)

        task.add_done_callback(done)

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
        self.disk_changes.cancel()

    def check_soon(self, path: str) -> None:
        """Check the entry comments of a source when nobody is typing any more."""
        if not path.endswith(".py") or self.session.is_listing(path):
            return
        if path in self._checks:
            self._checks[path].cancel()
        loop = asyncio.get_running_loop()
        self._checks[path] = loop.call_later(_PAUSE, self._check, path)

    def tell_news(self) -> None:
        """Tell the client of what is new in the stores; later, if that is yet to be read."""
        news = self.session.library.news()
        if news:
            attempts = Attempts()
            first = self._begin_news(news, attempts)
            if first is not None:
                reading = task_with_faults_logged(self._tell_later)
                self.start(asyncio.ensure_future(reading(first, news, attempts)))

    def _begin_news(
        self, news: Sequence[News], attempts: Attempts
    ) -> Awaitable[object] | None:
        """Tell of what is new; else what is to be read before it is begun again."""
        session = self.session
        try:
            with attempts.run():
                for path in self.open_paths:
                    if session.document(path) is not None:
                        session.diagnostics(path)
                for one in news if self.client.abilities.takes_revisions else ():
                    session.library.read(one.old)
                    session.library.read(one.new)
        except NotYetMade as wanted:
            return self.made_first.make(wanted, attempts)
        self._tell(news)
        return None

    async def _tell_later(
        self, first: Awaitable[object] | None, news: Sequence[News], attempts: Attempts
    ) -> None:
        while first is not None:
            await first
            first = self._begin_news(news, attempts)

    def _tell(self, news: Sequence[News]) -> None:
        library = self.session.library
        self.publish_and_refresh(*self.open_paths)
        self.tell_changed(
            library.uri(Path(one.new).parent, one.identity) for one in news
        )
        for one in news:
            if one.old != one.new and self.client.abilities.takes_revisions:
                lines = moved_lines(library.read(one.old)[0], library.read(one.new)[0])
                revised = custom.Revised(uri_of(one.old), uri_of(one.new), lines)
                self.protocol.notify(custom.REVISED, custom.plainly(revised))

    def tell_aged(self, sources: Iterable[str]) -> None:
        """Tell the client what was made of sources that are others now."""
        library = self.session.library
        self.tell_changed(uri for one in sources for uri in library.forwards_of(one))

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
        self._refresh("inlayHint", "codeLens", "semanticTokens")

    def _refresh(self, *kinds: str) -> None:
        asks = {
            "inlayHint": self.workspace_inlay_hint_refresh,
            "codeLens": self.workspace_code_lens_refresh,
            "semanticTokens": self.workspace_semantic_tokens_refresh,
        }
        for kind in kinds:
            if kind in self.client.abilities.refreshes:
                asks[kind](None)

    def _check(self, path: str) -> None:
        del self._checks[path]
        if path in self._uris:
            self.publish(*self.session.check_comments(path))

    def _look(self) -> None:
        self._poll = None
        abilities = self.client.abilities
        if self._uris or abilities.takes_changes or abilities.takes_runs:
            self.watch()
            if self.asides.are_running:
                return  # there is another look in a second
            self.tell_news()
            self._tell_runs()
            self._show_asked()
            for trouble in self.session.library.troubles():
                self.window_show_message(
                    lsp.ShowMessageParams(lsp.MessageType.Warning, f"fxls: {trouble}")
                )

    def _tell_runs(self) -> None:
        """Tell the client what runs say of open files, and which say more."""
        lengths = self.session.library.record_lengths()
        if self.session.look_at_runs(lengths):
            # Parameters have the sizes of inputs as hints.
            self.publish(*self.open_paths)
            self._refresh("inlayHint")
        if not self.client.abilities.takes_runs:
            return
        runs = self.session.library.news_of_runs(lengths)
        if runs:
            item = custom.plainly(custom.RunsChanged(runs))
            self.protocol.notify(custom.RUNS, item)

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


def _age(said: Iterable[Diagnostic]) -> list[str]:
    """What is said of the age of a listing."""
    return [one.message for one in said if one.reason is Reason.STALE]


def _status(health: Health) -> custom.StatusItem:
    quiescent = health.running == 0
    if health.broken is not None:
        message = f"{health.broken.message}. {health.broken.advice or ''}".strip()
        return custom.StatusItem("error", quiescent, message)
    return custom.StatusItem("ok", quiescent)
