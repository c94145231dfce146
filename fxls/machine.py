"""Which machine this is, since when it runs, and which processes there are on it."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

from fxls.null_signal import refusal

__all__ = ["boot", "host", "is_alive"]


@functools.cache
def host() -> str:
    """The name of the machine; empty where it has none."""
    return platform.node()


@functools.cache
def boot() -> str:
    """A word for the time since the machine was started; empty where there is none."""
    try:
        with Path("/proc/sys/kernel/random/boot_id").open("rb") as file:
            return file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number; yes where nobody can tell."""
    try:
        return not isinstance(refusal(pid), ProcessLookupError)
    except OverflowError:  # more than a process can have
        return True
