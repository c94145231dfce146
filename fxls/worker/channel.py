"""The worker's own ends of its pipes, out of the reach of user code.

Must not import anything but the standard library: it runs before all else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Channel", "claim", "print_to", "send"]


@dataclass(frozen=True, slots=True)
class Channel:
    """Where requests come from and answers go to."""

    requests: int
    answers: int


def claim() -> Channel:
    """Move standard input and output away.

    From here on, what anyone prints goes to standard error, and standard input is
    empty.
    """
    channel = Channel(os.dup(0), os.dup(1))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return channel


def print_to(pipe: int) -> None:
    """Make `pipe` this process's standard output and error, and close it."""
    os.dup2(pipe, 1)
    os.dup2(pipe, 2)
    os.close(pipe)


def send(pipe: int, data: bytes) -> None:
    """Write all of the data, however little the pipe takes at once."""
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
