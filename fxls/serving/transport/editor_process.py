"""Noticing the end of the process that started the server.

An editor that is killed closes nothing that a terminal or a wrapper holds open as well.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

from fxls.machine import refusal

__all__ = ["when_gone"]

_EVERY = 3.0
"""Seconds between two looks, where the system tells nobody."""

_LARGEST = 2**31 - 1


def when_gone(process: int, call: Callable[[], object]) -> None:
    """Call once, in the running loop, when a process has ended, or is none."""
    if not 0 < process <= _LARGEST:
        return
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        wait = threading.Thread(
            target=_wait, args=(process, loop, call), name="fxls editor", daemon=True
        )
        wait.start()
        return
    try:
        handle = os.pidfd_open(process) if sys.platform == "linux" else None
    except ProcessLookupError:
        loop.call_soon(call)
        return
    except OSError:  # an old kernel
        handle = None
    if handle is None:
        _look(process, loop, call)
        return

    def ended() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        call()

    loop.add_reader(handle, ended)


def _look(
    process: int, loop: asyncio.AbstractEventLoop, call: Callable[[], object]
) -> None:
    if isinstance(refusal(process), ProcessLookupError):
        loop.call_soon(call)
        return
    loop.call_later(_EVERY, _look, process, loop, call)


def _wait(
    process: int, loop: asyncio.AbstractEventLoop, call: Callable[[], object]
) -> None:
    import ctypes  # noqa: PLC0415 - of no use elsewhere

    kernel: Any = cast("Any", ctypes).WinDLL("kernel32")
    synchronize, forever = 0x00100000, 0xFFFFFFFF
    handle = kernel.OpenProcess(synchronize, 0, process)
    if handle:
        kernel.WaitForSingleObject(handle, forever)
        kernel.CloseHandle(handle)
    loop.call_soon_threadsafe(call)
