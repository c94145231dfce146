"""The protocol of pygls, and what version 2.1 of that leaves out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, cast
from urllib.parse import unquote

import msgspec
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol, lsp_method

from fxls.lsp import params as ours
from fxls.lsp.abilities import abilities_of
from fxls.lsp.encoding import Encoding
from fxls.lsp.text_changes import changed
from fxls.lsp.uris import SCHEME
from fxls.serving.made_first import Attempts, MadeFirst, NotYetMade
from fxls.serving.transport.editor_process import when_gone

__all__ = ["ListingProtocol", "content_modified", "quietly", "server_cancelled"]

_log = logging.getLogger(__name__)

_Number = int | str

_NOT_INITIALIZED = lsp.ResponseError(
    lsp.ErrorCodes.ServerNotInitialized.value, "the server is not initialized"
)

_SHUT_DOWN = lsp.ResponseError(
    lsp.ErrorCodes.InvalidRequest.value, "the server was shut down"
)

_INITIALIZED = lsp.ResponseError(
    lsp.ErrorCodes.InvalidRequest.value, "the server is initialized already"
)

_CANCELLED = lsp.ResponseError(
    lsp.LSPErrorCodes.RequestCancelled.value, "the request was cancelled"
)


def quietly(record: logging.LogRecord) -> bool:
    """Whether a record of pygls is worth a line of the log.

    It logs the traceback of each message that it cannot read.
    """
    return not record.getMessage().startswith("Unable to deserialize message")


def content_modified(message: str) -> lsp.ResponseError:
    """The answer about a listing that is not the one that was asked about any more."""
    return lsp.ResponseError(lsp.LSPErrorCodes.ContentModified.value, message)


def server_cancelled(message: str, *, retrigger: bool) -> lsp.ResponseError:
    """The answer to a request for diagnostics that the server gave up."""
    code = lsp.LSPErrorCodes.ServerCancelled.value
    return lsp.ResponseError(code, message, {"retriggerRequest": retrigger})


class ListingProtocol(LanguageServerProtocol):
    """The protocol of one connection.

    - Documents are changed in parts, or as a whole.
    - It says that it has virtual documents, which pygls serves and keeps to itself.
    - Requests of ours have typed parameters, and answers that are encoded quickly:
      a graph of 100,000 nodes has twenty megabytes.
    - A request that cannot be read, or comes before `initialize` or after `shutdown`,
      is answered with an error, and so is a second `initialize`; pygls leaves the client
      waiting, or begins anew.
    - A handler may answer with a `ResponseError`: raised, pygls would log it.
    - `on_cancel` hears of each request that the client gave up; those in `given_up`
      were before anybody came to them, and are not begun.
    - `exited_early` is whether the client said `exit` before `shutdown`, which pygls
      says with a code that it catches itself.
    - `end_of_input` is called when the editor is gone, as if it had closed its end.
    - `before` says what a message that opens a document has to wait for, or None.
    - The methods in `answers` may be begun again: where one needs what is not made yet,
      `made_first` makes it meanwhile.
    - Behind a message that waits, the other messages of its document wait, in their
      order, and no others do.
    """

    on_cancel: Callable[[_Number], None] | None = None
    exited_early = False
    end_of_input: Callable[[], object] | None = None
    given_up: set[_Number] | frozenset[_Number] = frozenset()
    before: Callable[[lsp.TextDocumentItem], Awaitable[object] | None] | None = None
    answers: frozenset[str] = frozenset()
    made_first: MadeFirst | None = None

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        self._waiting: dict[str, list[Any]] = {}
        """By the URI of a document, or the number of a request that names none: the
        message that is about to be handled, and those behind it."""
        self._tasks: set[asyncio.Task[None]] = set()

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(
        self, params: lsp.InitializeParams
    ) -> Generator[Any, Any, lsp.InitializeResult]:
        if params.process_id is not None:
            when_gone(params.process_id, self._end)
        result = yield from super().lsp_initialize(params)
        workspace = result.capabilities.workspace
        assert workspace is not None
        workspace.text_document_content = lsp.TextDocumentContentOptions([SCHEME])
        if not abilities_of(params.capabilities, Encoding.UTF16).pulls_diagnostics:
            result.capabilities.diagnostic_provider = None
        return result

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: lsp.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        known = self.workspace.text_documents.get(unquote(params.text_document.uri))
        if known is not None:
            # pygls and the protocol do not agree on what ends a line.
            encoding = Encoding(
                self.workspace.position_encoding or Encoding.UTF16.value
            )
            text = changed(known.source, params.content_changes, encoding)
            whole = lsp.TextDocumentContentChangeWholeDocument(text)
            params.content_changes = [whole]
        yield from cast("Any", super()).lsp_text_document__did_change(params)

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        self.exited_early = not self._shutdown
        yield from cast("Any", super()).lsp_exit(*args)

    def _end(self) -> None:
        _log.warning("the editor is gone, and the server ends")
        if self.end_of_input is not None:
            self.end_of_input()
        elif self.writer is not None:
            self.writer.close()

    def structure_message(self, data: dict[str, Any]) -> Any:
        method = data.get("method")
        if isinstance(method, str) and "params" not in data:
            # Whoever sends a request may leave them out, also of one that nobody knows.
            data = {**data, "params": None}
        try:
            if data.get("method") in ours.PARAMS:
                return self._of_ours(data)
            return super().structure_message(data)
        except JsonRpcException as error:
            number = data.get("id")
            if "method" not in data or not isinstance(number, _Number):
                raise
            _log.warning("%s %r cannot be read", data["method"], number)
            wrong = _SHUT_DOWN if self._shutdown else error.to_response_error()
            self._send_response(number, error=wrong)
            return None

    def _of_ours(self, data: dict[str, Any]) -> Any:
        message = cast("Any", super().structure_message({**data, "params": None}))
        try:
            message.params = ours.read(data["method"], data.get("params"))
        except (msgspec.ValidationError, UnicodeError) as error:
            raise JsonRpcInvalidParams(str(error)) from error
        return message

    def handle_message(self, message: Any) -> None:
        # None is a request that was answered when it could not be read.
        if message is None:
            return
        about = _document_of(message) or _number_of(message)
        if about in self._waiting:
            self._waiting[about].append(message)
            return
        attempts = Attempts()
        first = self._begin(message, attempts, self.before)
        if first is not None:
            self._waiting[about] = [message]
            task = asyncio.ensure_future(self._handle_behind(first, about, attempts))
            self._tasks.add(task)
            task.add_done_callback(partial(self._go_on, about))

    def _begin(
        self,
        message: Any,
        attempts: Attempts,
        before: Callable[[lsp.TextDocumentItem], Awaitable[object] | None] | None,
    ) -> Awaitable[object] | None:
        """Handle a message; else what is to be done before it is begun again."""
        if self.made_first is None or _method_of(message) not in self.answers:
            self._handle(message)
            return None
        try:
            with attempts.run():
                if before is not None and isinstance(
                    message, lsp.DidOpenTextDocumentNotification
                ):
                    first = before(message.params.text_document)
                    if first is not None:
                        return first
                self._handle(message)
        except NotYetMade as wanted:
            return self.made_first.make(wanted, attempts)
        return None

    async def _handle_behind(
        self, first: Awaitable[object] | None, about: str, attempts: Attempts
    ) -> None:
        while first is not None:
            await first
            first = self._begin(self._waiting[about][0], attempts, None)

    def _go_on(self, about: str, task: asyncio.Task[None]) -> None:
        """Handle what waited behind a message."""
        self._tasks.discard(task)
        _, *others = self._waiting.pop(about)
        if not task.cancelled():
            for message in others:
                self.handle_message(message)

    def _handle(self, message: Any) -> None:
        if self._shutdown and hasattr(message, "id") and hasattr(message, "method"):
            self._send_response(message.id, error=_SHUT_DOWN)
        else:
            super().handle_message(message)

    def _handle_request(self, msg_id: _Number, method_name: str, params: Any) -> None:
        if self._workspace is None and method_name != lsp.INITIALIZE:
            self._send_response(msg_id, error=_NOT_INITIALIZED)
        elif self._workspace is not None and method_name == lsp.INITIALIZE:
            self._send_response(msg_id, error=_INITIALIZED)
        elif msg_id in self.given_up:
            self._send_response(msg_id, error=_CANCELLED)
        else:
            super()._handle_request(msg_id, method_name, params)

    def _send_response(
        self,
        msg_id: _Number,
        result: Any = None,
        error: lsp.ResponseError | None = None,
    ) -> None:
        if isinstance(result, lsp.ResponseError):
            result, error = None, result
        if error is None and _is_ours(result) and self.writer is not None:
            try:
                message = _message(self.VERSION, msg_id, result)
            except UnicodeEncodeError:
                # A name of a file that is not Unicode: pygls escapes it.
                result = msgspec.to_builtins(result)
            else:
                self._result_types.pop(msg_id, None)
                # Pipes and sockets take it at once; nobody speaks over web sockets.
                self.writer.write(message)
                return
        super()._send_response(msg_id, result, error)

    def _execute_handler(
        self,
        msg_id: _Number,
        handler: Any,
        callback: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        # pygls keeps what became of each notification for as long as it runs.
        try:
            super()._execute_handler(msg_id, handler, callback, args, kwargs)
        except NotYetMade:
            self._request_futures.pop(msg_id, None)
            raise
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    def _handle_cancel_notification(self, msg_id: _Number) -> None:
        waiting = (one for messages in self._waiting.values() for one in messages)
        if any(getattr(one, "id", None) == msg_id for one in waiting):
            return
        if isinstance(self.given_up, set):
            self.given_up.discard(msg_id)
        # What was answered already is no trouble.
        if msg_id in self._request_futures:
            super()._handle_cancel_notification(msg_id)
        if self.on_cancel is not None:
            self.on_cancel(msg_id)


def _document_of(message: Any) -> str:
    """The URI of the document that a message is about; empty when it names none."""
    document = getattr(getattr(message, "params", None), "text_document", None)
    return getattr(document, "uri", "")


def _method_of(message: Any) -> str:
    """The method of a request or a notification; empty for an answer."""
    return getattr(message, "method", "")


def _number_of(message: Any) -> str:
    """What a request is known by that names no document; empty for what is none."""
    number = getattr(message, "id", None)
    return f"request {number!r}" if _method_of(message) and number is not None else ""


def _message(version: str, msg_id: _Number, result: object) -> bytes:
    """An answer as it is sent.

    What has megabytes is copied here once; an encoder would copy it three times.
    """
    head = msgspec.json.encode({"jsonrpc": version, "id": msg_id})[:-1]
    is_written = isinstance(result, msgspec.Raw)
    content = result if is_written else msgspec.json.encode(result)
    parts = (head, b',"result":', content, b"}")
    size = sum(memoryview(part).nbytes for part in parts)
    return b"".join((b"Content-Length: %d\r\n\r\n" % size, *parts))


def _is_ours(result: object) -> bool:
    items = cast("list[object]", result) if isinstance(result, list) else [result]
    return bool(items) and isinstance(items[0], msgspec.Struct | msgspec.Raw)
