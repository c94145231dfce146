"""A process of its own that computes something, and changes nothing around it.

It is forked, so it has what this process has at that moment. What it writes arrives
nowhere: each file, pipe and socket that it has inherited leads to nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

__all__ = ["Child", "can_fork"]

_SECONDS = 60
"""So long a child may take."""
_MOST_BYTES = 1 << 20
_CHANGING = (
    "os.",
    "shutil.",
    "socket.",
    "subprocess.",
    "tempfile.",
    "ftplib.",
    "smtplib.",
    "urllib.",
    "sqlite3.",
)
"""How the names begin of what Python's audit calls, and a child may not do."""
_HARMLESS = ("os.listdir", "os.scandir", "os.walk", "os.getxattr", "os.listxattr")


def can_fork() -> bool:
    """Whether a process can be forked here that has used torch."""
    return sys.platform == "linux"


class Child:
    """A process that runs a function; what that returns comes when it is asked for."""

    def __init__(
        self, function: Callable[[], bytes], seconds: float = _SECONDS
    ) -> None:
        self._found: bytes | None = None
        self.is_late = False
        """Whether it was ended because its time was up."""
        read, write = os.pipe()
        with warnings.catch_warnings():
            # Python warns that other threads may hold locks: then the time runs out.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if not self._pid:
            _be_child(function, write)
        os.close(write)
        self._pipe = read
        self._until = time.monotonic() + seconds

    def found(self) -> bytes:
        """What the function returned; empty where it ended otherwise, or in no time."""
        if self._found is None:
            parts: list[bytes] = []
            waiting = select.poll()  # `select` itself takes no large descriptors
            waiting.register(self._pipe, select.POLLIN)
            while sum(map(len, parts)) < _MOST_BYTES:
                left = self._until - time.monotonic()
                ready = waiting.poll(max(left, 0) * 1000)
                self.is_late = not ready
                part = os.read(self._pipe, 1 << 16) if ready else b""
                if not part:
                    break
                parts.append(part)
            self._end()
            self._found = b"".join(parts)
        return self._found

    def forget(self) -> None:
        """End it; nobody asks."""
        if self._found is None:
            self._end()
            self._found = b""

    def _end(self) -> None:
        os.close(self._pipe)
        # The program may wait for all of its children, or ignore how they end.
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)


def _be_child(function: Callable[[], bytes], write: int) -> NoReturn:
    """Never returns, nor lets anything be raised into the code that forked."""
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        _be_alone(write)
        found = memoryview(function())
        while found:
            found = found[os.write(write, found) :]
        code = 0
    finally:
        os._exit(code)


def _be_alone(write: int) -> None:
    """Let what this process writes arrive nowhere but in one pipe."""
    sys.settrace(None)
    threading.settrace(None)  # pyright: ignore[reportArgumentType]  # None takes it away
    nothing = os.open(os.devnull, os.O_RDWR)
    for one in [*Path("/proc/self/fd").iterdir()]:
        if int(one.name) not in (nothing, write):
            # One is that of the folder, which is closed by now.
            os.dup2(nothing, int(one.name))
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[object, ...]) -> None:
    """Raise where something outside of this process is changed."""
    if event == "open":
        mode, flags = args[1], args[2]
        is_written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        if is_written or (isinstance(mode, str) and not mode.startswith("r")):
            raise PermissionError("a child that compares writes no files")
    elif event.startswith(_CHANGING) and event not in _HARMLESS:
        raise PermissionError(f"a child that compares does no {event}")
