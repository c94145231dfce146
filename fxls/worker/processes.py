"""The process that serves one trace, as the supervisor sees it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Protocol

__all__ = [
    "Child",
    "Forked",
    "Spawned",
    "adopt_orphans",
    "die_with_parent",
    "end_orphans",
]


class Child(Protocol):
    """A process, the pipe of its answer, and the pipe of what it prints."""

    answers: int
    prints: int
    pid: int

    def status(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""
        ...

    def end(self) -> None:
        """Kill it, with everything it started; waits for it."""
        ...


class Forked:
    """A child made by `fork`, the leader of a process group."""

    def __init__(self, pid: int, answers: int, prints: int) -> None:
        self.pid = pid
        self.answers = answers
        self.prints = prints

    def status(self) -> int | None:
        # The child stays a zombie until `end`, so that nobody else gets its number
        # while its group may still have to be killed.
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        exited = ended.si_code == os.CLD_EXITED
        return ended.si_status if exited else -ended.si_status

    def end(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Spawned:
    """A child that is an interpreter of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self.pid = process.pid
        # Duplicates, because the mailbox closes what it watches and so does Popen.
        self.answers = os.dup(process.stdout.fileno())
        self.prints = os.dup(process.stderr.fileno())
        process.stdout.close()
        process.stderr.close()

    def wake_at_end(self, wake: Callable[[], None]) -> None:
        """Call `wake` from another thread when the process ends."""

        def wait() -> None:
            self._process.wait()
            wake()

        threading.Thread(target=wait, daemon=True).start()

    def ask(self, request: bytes) -> None:
        """Send the one request that it serves.

        Its standard input stays open: it ends itself when that closes, which happens
        when this process dies.
        """
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(request)
            self._process.stdin.flush()

    def status(self) -> int | None:
        return self._process.poll()

    def end(self) -> None:
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()


_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; Linux alone."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel knew
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of what user code leaves behind; Linux alone."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_orphans(known: Collection[int]) -> None:
    """Kill every child but the known ones, until none is left; Linux alone."""
    # Killing one may orphan others, which then become children as well.
    while strangers := _children() - set(known):
        for pid in strangers:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> set[int]:
    pid = os.getpid()
    try:
        return {
            int(child)
            for child in Path(f"/proc/self/task/{pid}/children")
            .read_text("ascii")
            .split()
        }
    except OSError:  # another system, or a kernel built without the file
        return set()


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
