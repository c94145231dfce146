"""Two ways to start the process that serves one trace."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import Protocol

from fxls.wire import Asked, framed
from fxls.worker.catching import caught
from fxls.worker.channel import Channel, print_to
from fxls.worker.mailbox import SelectorMailbox, ThreadMailbox
from fxls.worker.processes import (
    Child,
    Forked,
    Spawned,
    adopt_orphans,
    die_with_parent,
    end_orphans,
)
from fxls.worker.serve import LARGE, serve

__all__ = ["Forking", "Spawning", "Start"]


class Start(Protocol):
    """Starts children that are warm: torch is imported."""

    def child(self, request: Asked) -> Child:
        """A process that is serving this trace."""
        ...

    def tidy(self, running: Collection[int]) -> None:
        """End what is left of children that are not among the running."""
        ...

    def load(self) -> None:
        """Let later children have the part of torch that an earlier one had to import."""
        ...


class Forking:
    """Children are copies of this process, which has imported torch."""

    def __init__(self, mailbox: SelectorMailbox, channel: Channel) -> None:
        self._mailbox = mailbox
        self._channel = channel
        adopt_orphans()

    def child(self, request: Asked) -> Child:
        answers, answers_end = os.pipe()
        prints, prints_end = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                os.setpgid(0, 0)
                die_with_parent(parent)
                self._mailbox.abandon()
                for pipe in (self._channel.answers, answers, prints):
                    os.close(pipe)
                log = os.dup(2)
                print_to(prints_end)
                serve(request, answers_end, log)
            finally:
                # No exception may unwind into the loop of the supervisor.
                os._exit(70)
        # Both sides set the group: whichever comes first, it exists from here on.
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(pid, pid)
        os.close(answers_end)
        os.close(prints_end)
        return Forked(pid, answers, prints)

    def tidy(self, running: Collection[int]) -> None:
        if not running:  # a stranger may belong to one that runs
            end_orphans(running)

    def load(self) -> None:
        # What keeps it from being imported is said by the trace that needs it.
        caught(lambda: importlib.import_module(LARGE))


class Spawning:
    """Children are new interpreters; one that has imported torch is always at hand.

    For platforms without `fork`, and for macOS, whose own libraries do not survive it.
    """

    def __init__(self, mailbox: ThreadMailbox) -> None:
        self._mailbox = mailbox
        self._spare = self._spawn()

    def child(self, request: Asked) -> Child:
        child, self._spare = self._spare, self._spawn()
        child.wake_at_end(self._mailbox.wake)
        child.ask(framed(request))
        return child

    def tidy(self, running: Collection[int]) -> None:
        """Nothing: a child that was ended took its group along."""

    def load(self) -> None:
        """Nothing: each child imports for itself."""

    def _spawn(self) -> Spawned:
        return Spawned(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "fxls.worker", "--one"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        )
