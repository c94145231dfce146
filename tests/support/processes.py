"""The ends of processes."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Callable, Generator

__all__ = ["watched"]

_LIMIT = 300_000
"""Milliseconds until a process counts as one that stays."""


@contextlib.contextmanager
def watched(pid: int) -> Generator[Callable[[], bool]]:
    """What waits, when it is called, for a process that lives now; whether it has ended.

    One that ended and that nobody has asked for its code has ended, too.
    """
    handle = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        yield lambda: bool(poll.poll(_LIMIT))
    finally:
        os.close(handle)
