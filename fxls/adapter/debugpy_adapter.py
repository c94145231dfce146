"""An adapter of debugpy's: one that is started here, or one that listens somewhere."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import IO, Self, cast

from fxls.adapter.messages import Message
from fxls.launching.listening import Address

__all__ = ["DebugpyAdapter"]


class DebugpyAdapter:
    """Both directions of the conversation with it.

    A thread writes to it, so that nobody who sends something waits for it.
    """

    def __init__(
        self, received: IO[bytes], sent: IO[bytes], end: Callable[[float], int]
    ) -> None:
        self.received = received
        self._sent = sent
        self._end = end
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        threading.Thread(target=self._write, name="to debugpy", daemon=True).start()

    @classmethod
    def start(cls) -> Self:
        """Start one, of the Python that runs this."""
        command = [sys.executable, "-P", "-m", "debugpy.adapter"]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

        def end(limit: float) -> int:
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()

        received, sent = process.stdout, process.stdin
        return cls(cast("IO[bytes]", received), cast("IO[bytes]", sent), end)

    @classmethod
    def connect(cls, address: Address) -> Self:
        """The one that listens there; raises OSError."""
        connection = socket.create_connection((address.host, address.port), _PATIENCE)
        connection.settimeout(None)

        def end(_limit: float) -> int:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
            return 0

        return cls(connection.makefile("rb"), connection.makefile("wb"), end)

    def send(self, message: Message) -> None:
        """Send it a message, without waiting."""
        self._messages.put(message)

    def leave(self) -> None:
        """Hang up behind what was sent."""
        self._messages.put(None)

    def end(self, limit: float) -> int:
        """Hang up, and kill a process that takes longer to end; its exit code."""
        self.leave()
        return self._end(limit)

    def _write(self) -> None:
        # One that has ended is noticed where its answers are read.
        with contextlib.suppress(OSError, ValueError):
            while (message := self._messages.get()) is not None:
                message.write(self._sent)
        with contextlib.suppress(OSError, ValueError):
            self._sent.close()


_PATIENCE = 20.0
"""Seconds until somebody who listens has answered."""
