"""The debugger this process runs under, when that is debugpy: all that knows its insides.

debugpy's engine, pydevd, has no interface for most of what is done here. What is used is
the same from debugpy 1.6 to 1.8; where another version lacks it, that is logged once, and
the program is debugged as it would be without fxls.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import fxls

__all__ = ["prepare"]

_log = logging.getLogger("fxls")

_Debugger = Any
"""pydevd's `PyDB`, which has no types."""


def prepare() -> None:
    """Make a debugger that is connected quick, and let it step over fxls; once each."""
    debugger = _connected()
    if debugger is None or getattr(debugger, _PREPARED, False):
        return
    setattr(debugger, _PREPARED, True)
    with _guarded("stops are slow"):
        _send_at_once(debugger)
    with _guarded("steps go into fxls itself"):
        _call_fxls_a_library(debugger)


def _connected() -> _Debugger | None:
    """The debugger, when a client is connected to it."""
    if "pydevd" not in sys.modules:
        return None
    with _guarded("breakpoints in new listings are not bound"):
        constants: Any = sys.modules["_pydevd_bundle.pydevd_constants"]
        debugger = constants.get_global_debugger()
        if debugger is not None and debugger.writer is not None:
            return debugger
    return None


def _send_at_once(debugger: _Debugger) -> None:
    # pydevd writes a message in two pieces; without this the second piece waits 40 ms
    # for the other side to say that the first has come.
    debugger.writer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _call_fxls_a_library(debugger: _Debugger) -> None:
    """Let fxls be library code also where it is not installed in site-packages."""
    roots: list[str] = debugger._files_filtering._get_library_roots()
    folder = str(Path(fxls.__file__).parent)
    if not any(folder.startswith(root) for root in roots):
        debugger._files_filtering.set_library_roots([*roots, folder])
        debugger._clear_caches()


@contextlib.contextmanager
def _guarded(what_fails: str) -> Generator[None]:
    """Log once that this debugpy is not as we know it."""
    try:
        yield
    except (AttributeError, ImportError, LookupError, TypeError, OSError) as error:
        if what_fails not in _said:
            _said.add(what_fails)
            _log.warning("with this version of debugpy %s: %r", what_fails, error)


_PREPARED = "_fxls_prepared"
_said: set[str] = set()
