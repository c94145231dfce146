"""Waiting for bytes from several pipes at once."""

from __future__ import annotations

import os
import queue
import selectors
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Protocol

__all__ = ["Mailbox", "SelectorMailbox", "ThreadMailbox"]

Receive = Callable[[bytes], None]

_CHUNK = 1 << 16


class Mailbox(Protocol):
    """Pipes that are being waited for.

    `receive` is called from within `wait` alone, with what arrived, and with nothing
    once, at the end of the pipe.
    """

    def watch(self, pipe: int, receive: Receive) -> None: ...

    def forget(self, pipe: int) -> None:
        """Stop watching a pipe and close it."""
        ...

    def wait(self, timeout: float | None) -> None:
        """Return when something arrived, a child ended or the time is over."""
        ...

    def wake(self) -> None:
        """Make `wait` return."""
        ...


class SelectorMailbox:
    """A mailbox without threads, for a process that forks.

    Takes over SIGCHLD, so it belongs in the main thread.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._bell, self._button = socket.socketpair()
        self._bell.setblocking(False)  # noqa: FBT003  # its signature
        self._button.setblocking(False)  # noqa: FBT003  # its signature
        self._selector.register(self._bell, selectors.EVENT_READ)
        # The wake-up pipe rings only for signals that have a handler.
        signal.signal(signal.SIGCHLD, _do_nothing)
        signal.set_wakeup_fd(self._button.fileno(), warn_on_full_buffer=False)

    def watch(self, pipe: int, receive: Receive) -> None:
        self._selector.register(pipe, selectors.EVENT_READ, receive)

    def forget(self, pipe: int) -> None:
        try:
            self._selector.unregister(pipe)
        except KeyError:
            return
        os.close(pipe)

    def wait(self, timeout: float | None) -> None:
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._silence()
            elif key.fd in self._selector.get_map():
                key.data(os.read(key.fd, _CHUNK))

    def wake(self) -> None:
        self._button.send(b"\0")

    def abandon(self) -> None:
        """Give up everything, in a forked child: its user code must not reach it."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pipes = [key.fd for key in self._selector.get_map().values() if key.data]
        self._selector.close()
        self._bell.close()
        self._button.close()
        for pipe in pipes:
            os.close(pipe)

    def _silence(self) -> None:
        try:
            while self._bell.recv(_CHUNK):
                pass
        except BlockingIOError:
            pass


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass


class ThreadMailbox:
    """A mailbox for platforms that cannot select on pipes: one thread reads each."""

    def __init__(self) -> None:
        self._arrived: queue.SimpleQueue[tuple[Receive, bytes] | None] = (
            queue.SimpleQueue()
        )
        self._watched: dict[int, Receive] = {}

    def watch(self, pipe: int, receive: Receive) -> None:
        self._watched[pipe] = receive
        threading.Thread(target=self._read, args=(pipe, receive), daemon=True).start()

    def forget(self, pipe: int) -> None:
        # The reader closes the pipe at its end: closing it under a blocked read could
        # let another file take its number.
        self._watched.pop(pipe, None)

    def wait(self, timeout: float | None) -> None:
        try:
            letter = self._arrived.get(timeout=timeout)
        except queue.Empty:
            return
        if letter is not None:
            receive, data = letter
            if receive in self._watched.values():
                receive(data)

    def wake(self) -> None:
        self._arrived.put(None)

    def _read(self, pipe: int, receive: Receive) -> None:
        data = b"\0"
        while data:
            data = os.read(pipe, _CHUNK)
            self._arrived.put((receive, data))
        os.close(pipe)
