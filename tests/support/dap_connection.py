"""A connection to a debug adapter: requests, answers, events, and what was said.

Knows the protocol's envelope and nothing of debugging; `tests.support.dap` does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Self, TypeVar

import msgspec

__all__ = [
    "TIME_LIMIT",
    "Connection",
    "Ended",
    "Event",
    "Json",
    "RequestFailed",
    "TimedOut",
    "kill_group",
]

TIME_LIMIT = 300.0
"""Seconds for one wait: torch compiles something, on a machine that is busy."""

_NOTE_MESSAGES = 24
_NOTE_WIDTH = 400

Json = Mapping[str, object]
_T = TypeVar("_T")


class TimedOut(Exception):
    """The adapter did not answer, or an event did not come, within the time limit."""


class Ended(Exception):
    """The debuggee ended, or the adapter hung up, while something else was awaited."""


class RequestFailed(Exception):
    """The adapter answered a request with a failure."""


class Event(msgspec.Struct, frozen=True):
    """What the adapter told of its own accord."""

    event: str
    body: dict[str, object] = {}


class _Message(msgspec.Struct):
    type: str
    request_seq: int = 0
    seq: int = 0
    command: str = ""
    success: bool = True
    message: str = ""
    event: str = ""
    body: dict[str, object] | None = None
    arguments: dict[str, object] | None = None


class Connection:
    """Both directions of one conversation; every wait has a time limit.

    One thread reads; any thread may ask.
    """

    def __init__(
        self, received: IO[bytes], sent: IO[bytes], hang_up: Callable[[], None]
    ) -> None:
        self._received = received
        self._sent = sent
        self._hang_up = hang_up
        self._sequence = 0
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._responses: dict[int, _Message] = {}
        self._events: list[Event] = []
        self._unread: list[Event] = []
        self._transcript: list[str] = []
        self._closed = False
        self._answer: Callable[[Json], None] | None = None
        self._reader = threading.Thread(target=self._read, name="dap", daemon=True)
        self._reader.start()

    @classmethod
    def spawn(cls, command: list[str], cwd: Path | None, env: Json | None) -> Self:
        """A conversation over the pipes of a new process; `env` is added to ours."""
        # The adapter writes harmless tracebacks to stderr when it disconnects.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env={**os.environ, **{name: str(v) for name, v in (env or {}).items()}},
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        received, sent = process.stdout, process.stdin

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                sent.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            kill_group(process.pid)
            process.wait()

        return cls(received, sent, hang_up)

    @classmethod
    def connect(cls, host: str, port: int) -> Self:
        """A conversation with an adapter that listens already."""
        connection = socket.create_connection((host, port), timeout=TIME_LIMIT)
        connection.settimeout(None)
        received, sent = connection.makefile("rb"), connection.makefile("wb")

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(OSError):
                sent.close()
            connection.close()

        return cls(received, sent, hang_up)

    def close(self) -> None:
        """Hangs up; a process that was spawned is dead afterwards."""
        self._hang_up()
        self._reader.join(5)
        self._received.close()

    def wait_closed(self, limit: float) -> None:
        """Waits until the other end hangs up."""
        self._wait(lambda: True if self._closed else None, "the end", limit)

    def answer_requests(self, answer: Callable[[Json], None]) -> None:
        """Answer each request of the adapter's so, by its arguments.

        `RequestFailed` refuses one. Until then all are refused.
        """
        self._answer = answer

    def send(self, command: str, arguments: Json) -> int:
        """Asks without waiting; `answer` takes the number."""
        return self._write(
            {"type": "request", "command": command, "arguments": arguments}
        )

    def answer(self, sequence: int, what: str, limit: float) -> dict[str, object]:
        """The body of an answer; raises `RequestFailed`."""
        got = self._wait(lambda: self._responses.pop(sequence, None), what, limit)
        if not got.success:
            raise RequestFailed(f"{what}: {got.message}")
        return got.body or {}

    def answered(self, sequence: int) -> bool:
        """Whether an answer is there and was not taken."""
        with self._changed:
            return sequence in self._responses

    def wait_event(
        self,
        names: tuple[str, ...],
        where: Callable[[Event], bool],
        limit: float,
        unless: Callable[[], bool] = lambda: False,
    ) -> Event | None:
        """The first event of these names not yet waited for; None once `unless`."""

        def take() -> Event | bool | None:
            for index, event in enumerate(self._unread):
                if event.event in names and where(event):
                    return self._unread.pop(index)
            return unless() or None

        got = self._wait(take, f"event {' or '.join(names)}", limit)
        return got if isinstance(got, Event) else None

    def events(self, name: str) -> tuple[Event, ...]:
        """Every event of this name so far, also those that were waited for."""
        with self._changed:
            return tuple(event for event in self._events if event.event == name)

    def transcript(self, messages: int = _NOTE_MESSAGES) -> str:
        """The end of the conversation, a message a line, shortened."""
        with self._changed:
            lines = self._transcript[-messages:]
        return "\n".join(["the debug adapter's conversation, last messages:", *lines])

    def _wait(self, get: Callable[[], _T | None], what: str, limit: float) -> _T:
        """What `get` gives once it is not None; `get` runs under the lock."""
        end = time.monotonic() + limit
        with self._changed:
            while True:
                got = get()
                if got is not None:
                    return got
                if self._closed:
                    raise Ended(f"the adapter hung up while {what} was awaited")
                if not self._changed.wait(end - time.monotonic()):
                    raise TimedOut(f"{what}: nothing came in {limit:.0f} s")

    def _write(self, message: Json) -> int:
        with self._writing:
            self._sequence += 1
            data = json.dumps({**message, "seq": self._sequence}).encode()
            self._note("-->", data)
            self._sent.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
            self._sent.flush()
            return self._sequence

    def _read(self) -> None:
        # A closed pipe is a ValueError when it is ours and an OSError when theirs.
        with contextlib.suppress(OSError, ValueError):
            while (data := self._receive()) is not None:
                self._note("<--", data)
                self._take(msgspec.json.decode(data, type=_Message))
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _receive(self) -> bytes | None:
        length = -1
        while (line := self._received.readline()).strip():
            key, _, value = line.partition(b":")
            if key.lower() == b"content-length":
                length = int(value)
        return None if length < 0 else self._received.read(length)

    def _take(self, message: _Message) -> None:
        with self._changed:
            if message.type == "response":
                self._responses[message.request_seq] = message
            elif message.type == "event":
                event = Event(message.event, message.body or {})
                self._events.append(event)
                self._unread.append(event)
            self._changed.notify_all()
        if message.type == "request":
            # Not in the thread that reads what the answer may have to wait for.
            threading.Thread(target=self._respond, args=(message,), daemon=True).start()

    def _respond(self, message: _Message) -> None:
        refusal = "this client takes no requests"
        if self._answer is not None:
            try:
                self._answer(message.arguments or {})
                refusal = ""
            except RequestFailed as failed:
                refusal = str(failed)
        self._write(
            {
                "type": "response",
                "request_seq": message.seq,
                "command": message.command,
                "success": not refusal,
                "message": refusal,
            }
        )

    def _note(self, arrow: str, data: bytes) -> None:
        text = data.decode()
        short = text if len(text) < _NOTE_WIDTH else text[:_NOTE_WIDTH] + " ..."
        with self._changed:
            self._transcript.append(f"{arrow} {short}")


def kill_group(group: int) -> None:
    """Ends every process of a group, which may be gone already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
