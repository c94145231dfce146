"""Which machine this is, since when it runs, and which processes there are on it."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

__all__ = ["boot", "host", "is_alive", "refusal"]


@functools.cache
def host() -> str:
    """The name of the machine; empty where it has none."""
    import platform  # noqa: PLC0415 - 4 ms, which the server needs for nothing else

    return platform.node()


@functools.cache
def boot() -> str:
    """A word for the time since the machine was started; empty where there is none."""
    try:
        with Path("/proc/sys/kernel/random/boot_id").open("rb") as file:
            return file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return ""


def refusal(pid: int) -> OSError | None:
    """Why a process cannot be sent a signal, as that there is none; None when it can.

    None on Windows, and of a number that stands for several processes: nobody is asked.
    There is no signal on Windows that does nothing: the number of it is that of Ctrl+C.
    """
    if sys.platform == "win32" or pid <= 0:
        return None
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error
    return None


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number; yes where nobody can tell."""
    try:
        return not isinstance(refusal(pid), ProcessLookupError)
    except OverflowError:  # more than a process can have
        return True
