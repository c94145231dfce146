"""The language server: one short handler for each method; decode, ask, encode.

Imports no torch and runs no code of the user's. Standard output is the protocol: it
is moved away before anything could print to it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer

from fxls import __version__
from fxls.entry import Entry, Kind
from fxls.host import State, Status
from fxls.ide import hints, hover, navigation, source
from fxls.ide.diagnostics import Diagnostic
from fxls.ide.document import Document, Jump
from fxls.lsp import custom, from_lsp
from fxls.lsp.encoding import Encoding
from fxls.lsp.settings import Settings, SettingsError
from fxls.lsp.settings import read as read_settings
from fxls.lsp.to_lsp import Client
from fxls.lsp.uris import path_of, uri_of
from fxls.session import Session
from fxls.text import LineTable, Point
from fxls.wire import Failed

__all__ = ["Server", "make_server", "serve_stdio", "serve_tcp"]

_log = logging.getLogger(__name__)

_P = ParamSpec("_P")
_R = TypeVar("_R")

Links = list[lsp.LocationLink] | list[lsp.Location]


class Server(LanguageServer):
    """The connection to one client, and what is known for it."""

    def __init__(self, settings: Settings) -> None:
        # Whole texts, because a model file is small, and pygls and the protocol do
        # not agree on what ends a line.
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls: **kwargs
            "fxls", __version__, lsp.TextDocumentSyncKind.Full
        )
        self.session = Session(settings, self._open_text, self._on_status)
        self.client = Client()
        self.tasks: set[asyncio.Task[object]] = set()
        self._uris: dict[str, str] = {}
        self._shown: dict[str, tuple[Diagnostic, ...]] = {}

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what pygls could not handle; a pop-up would help nobody."""
        # A request gets its error as the answer.
        if source is not FeatureRequestError:
            self.log(lsp.MessageType.Error, str(error))

    def opened(self, uri: str) -> str | None:
        """Note how the client spells a path; None when it is no file."""
        path = path_of(uri)
        if path is not None:
            self._uris[path] = uri
        return path

    def closed(self, uri: str) -> str | None:
        path = path_of(uri)
        if path is not None:
            self._uris.pop(path, None)
        return path

    def publish(self, *paths: str) -> None:
        """Send what there is to say about files, where that is not what was sent."""
        for path in paths:
            said = self.session.diagnostics(path)
            if said == self._shown.get(path, ()):
                # A client moves what it shows along with edits; leave that be.
                continue
            self._shown[path] = said
            items = [self.client.diagnostic(d, self.session.lines_of) for d in said]
            uri = self._uris.get(path) or uri_of(path)
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri, items)
            )

    def log(self, kind: lsp.MessageType, message: str) -> None:
        """Write to the log that the user can open."""
        self.window_log_message(lsp.LogMessageParams(kind, message))

    def _open_text(self, path: str) -> str | None:
        uri = self._uris.get(path)
        return self.workspace.get_text_document(uri).source if uri else None

    def _on_status(self, status: Status) -> None:
        if status.state is State.BROKEN:
            self.log(lsp.MessageType.Error, f"{status.message}. {status.advice or ''}")


# The life of the server


def on_initialize(ls: Server, params: lsp.InitializeParams) -> None:
    encoding = Encoding(ls.workspace.position_encoding or Encoding.UTF16.value)
    ls.client = Client.of(params.capabilities, encoding)
    ls.session.folder = ls.workspace.root_path
    try:
        ls.session.settings = read_settings(
            params.initialization_options, ls.session.settings
        )
    except SettingsError as error:
        ls.log(lsp.MessageType.Error, f"{error}; the defaults are used")


async def on_shutdown(ls: Server, params: object) -> None:
    for task in ls.tasks:
        task.cancel()
    await asyncio.gather(*ls.tasks, return_exceptions=True)
    await ls.session.close()


# Documents


def on_did_open(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    path = ls.opened(params.text_document.uri)
    if path is None:
        return
    ls.publish(path)
    _look_at(ls, path)


def on_did_change(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    if path is not None:
        # The diagnostics of a listing say whether it is still the generated text.
        ls.publish(path)


def on_did_save(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
    path = path_of(params.text_document.uri)
    if path is not None:
        _look_at(ls, path)


def on_did_close(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    path = ls.closed(params.text_document.uri)
    if path is not None:
        ls.publish(path, *ls.session.forget(path))


# Questions


def on_hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    asked = _asked(ls, params)
    if asked is None:
        return None
    if asked.document is not None:
        texts = ls.session.text_as_traced(asked.document)
        found = hover.hover(asked.document, asked.point, texts)
    else:
        found = source.hover(ls.session.source(asked.path), asked.point)
    return ls.client.hover(found, asked.lines) if found else None


def on_definition(ls: Server, params: lsp.DefinitionParams) -> Links | None:
    return _jump(ls, params, navigation.definition, source.definition)


def on_implementation(ls: Server, params: lsp.ImplementationParams) -> Links | None:
    return _jump(ls, params, navigation.implementation, source.implementation)


def on_references(ls: Server, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    asked = _asked(ls, params)
    if asked is None or asked.document is None:
        return None
    if params.context.include_declaration:
        marks = navigation.references(asked.document, asked.point)
    else:
        marks = navigation.uses(asked.document, asked.point)
    return ls.client.references(marks, asked.document)


def on_document_highlight(
    ls: Server, params: lsp.DocumentHighlightParams
) -> list[lsp.DocumentHighlight] | None:
    asked = _asked(ls, params)
    if asked is None or asked.document is None:
        return None
    marks = navigation.highlights(asked.document, asked.point)
    return ls.client.highlights(marks, asked.document)


def on_document_symbol(
    ls: Server, params: lsp.DocumentSymbolParams
) -> list[lsp.DocumentSymbol] | None:
    document = _document(ls, params.text_document.uri)
    return ls.client.symbols(document) if document else None


def on_inlay_hint(
    ls: Server, params: lsp.InlayHintParams
) -> list[lsp.InlayHint] | None:
    document = _document(ls, params.text_document.uri)
    if document is None:
        return None
    found = hints.hints(document, params.range.start.line, params.range.end.line)
    return ls.client.hints(found, document.lines)


# Our own


def on_listings(ls: Server, params: Any) -> list[object]:
    path = path_of(params.textDocument.uri)
    if path is None:
        return []
    documents = ls.session.source(path).documents
    return [custom.plainly(custom.listing_item(document)) for document in documents]


async def on_trace(ls: Server, uri: str = "", *expressions: str) -> list[object]:
    path = path_of(uri)
    if path is None:
        return []
    found = ls.session.entries(path)
    if expressions:
        known = {entry.expression: entry for entry in found}
        asked = (Entry(path, text, Kind.COMMAND) for text in expressions)
        found = tuple(known.get(entry.expression, entry) for entry in asked)
    return [custom.plainly(item) for item in await _traced(ls, found)]


# What the handlers share


class _Positioned(Protocol):
    """The parameters of every request about a place."""

    text_document: lsp.TextDocumentIdentifier
    position: lsp.Position


class _Asked(NamedTuple):
    """A place that the client asks about."""

    path: str
    lines: LineTable
    point: Point
    document: Document | None
    """The listing, when the place is in one; else it is in a source."""


def _asked(ls: Server, params: _Positioned) -> _Asked | None:
    """The place of a request; None when there is nothing to say about its file."""
    path = path_of(params.text_document.uri)
    if path is None or ls.session.trouble(path):
        return None
    document = ls.session.document(path)
    lines = document.lines if document else ls.session.lines_of(path)
    if lines is None:
        return None
    point = from_lsp.point(params.position, lines, ls.client.encoding)
    return _Asked(path, lines, point, document)


def _document(ls: Server, uri: str) -> Document | None:
    path = path_of(uri)
    return ls.session.document(path) if path else None


def _jump(
    ls: Server,
    params: _Positioned,
    from_listing: Callable[[Document, Point], Jump | None],
    from_source: Callable[[source.SourceFile, Point], Jump | None],
) -> Links | None:
    asked = _asked(ls, params)
    if asked is None:
        return None
    if asked.document is not None:
        found = from_listing(asked.document, asked.point)
        found = ls.session.moved(asked.document, found) if found else None
    else:
        found = from_source(ls.session.source(asked.path), asked.point)
    return ls.client.jump(found, asked.lines, ls.session.lines_of) if found else None


def _look_at(ls: Server, path: str) -> None:
    """Check the entries of a source, and trace them when that is allowed."""
    if not path.endswith(".py") or ls.session.is_listing(path):
        return
    ls.publish(*ls.session.check(path))
    found = ls.session.entries(path)
    if not ls.session.settings.trusted or not found:
        return
    task = asyncio.ensure_future(guarded_task(_traced)(ls, found))
    ls.tasks.add(task)
    task.add_done_callback(ls.tasks.discard)


async def _traced(ls: Server, found: Sequence[Entry]) -> list[custom.TracedItem]:
    return list(await asyncio.gather(*(_trace(ls, entry) for entry in found)))


async def _trace(ls: Server, entry: Entry) -> custom.TracedItem:
    outcome = await ls.session.trace(entry)
    ls.publish(*ls.session.settle(entry, outcome))
    if isinstance(outcome, Failed):
        return custom.TracedItem.failed(entry.expression, outcome.failure)
    message = f"{entry.expression}: {outcome.path} ({outcome.seconds:.2f} s)"
    ls.log(lsp.MessageType.Info, message)
    return custom.TracedItem.traced(entry.expression, outcome.path, outcome.trouble)


# Registration


@contextmanager
def _fault_logged(name: str) -> Generator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001  # a fault of ours must not end the session
        _log.exception("%s failed", name)


def guarded(handler: Callable[_P, _R]) -> Callable[_P, _R | None]:
    """A handler whose fault is logged, and answered as if there were nothing."""

    @wraps(handler)
    def answer(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        with _fault_logged(handler.__name__):
            return handler(*args, **kwargs)
        return None

    return answer


def guarded_task(
    handler: Callable[_P, Awaitable[_R]],
) -> Callable[_P, Awaitable[_R | None]]:
    """`guarded` for a handler that waits."""

    @wraps(handler)
    async def answer(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        with _fault_logged(handler.__name__):
            return await handler(*args, **kwargs)
        return None

    return answer


def make_server(settings: Settings) -> Server:
    """A server with every handler, for one client that may set other settings."""
    server = Server(settings)
    handlers: dict[str, Callable[[Server, Any], object]] = {
        lsp.INITIALIZE: on_initialize,
        lsp.TEXT_DOCUMENT_DID_OPEN: on_did_open,
        lsp.TEXT_DOCUMENT_DID_CHANGE: on_did_change,
        lsp.TEXT_DOCUMENT_DID_SAVE: on_did_save,
        lsp.TEXT_DOCUMENT_DID_CLOSE: on_did_close,
        lsp.TEXT_DOCUMENT_HOVER: on_hover,
        lsp.TEXT_DOCUMENT_DEFINITION: on_definition,
        lsp.TEXT_DOCUMENT_IMPLEMENTATION: on_implementation,
        lsp.TEXT_DOCUMENT_REFERENCES: on_references,
        lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: on_document_highlight,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: on_document_symbol,
        lsp.TEXT_DOCUMENT_INLAY_HINT: on_inlay_hint,
        custom.LISTINGS: on_listings,
    }
    for method, handler in handlers.items():
        server.feature(method)(guarded(handler))
    server.feature(lsp.SHUTDOWN)(guarded_task(on_shutdown))
    server.command(custom.TRACE)(guarded_task(on_trace))
    return server


def serve_stdio(*, store: str | None = None) -> None:
    """Serve the client at the other end of standard input and output."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever prints, a library or a child, must not reach the protocol.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    make_server(Settings(store=store)).start_io(stdout=answers)


def serve_tcp(host: str, port: int, *, store: str | None = None) -> None:
    """Serve the first client that connects."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # It says which port it got when it was asked for any.
    logging.getLogger("pygls.server").setLevel(logging.INFO)
    make_server(Settings(store=store)).start_tcp(host, port)
