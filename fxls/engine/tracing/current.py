"""Which trace runs in a thread. The only state of the engine that tracing shares."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fxls.engine.tracing.patching import TraceSession

__all__ = ["current", "is_fx_symbolic_tracing", "is_fx_tracing", "is_recorded"]


class _Current(threading.local):
    session: TraceSession | None = None


current = _Current()


def is_fx_tracing() -> bool:
    """Whether this thread is tracing a program."""
    return current.session is not None


is_fx_symbolic_tracing = is_fx_tracing


def is_recorded(function: object) -> bool:
    """Whether calls of a wrapped function are recorded in this thread."""
    session = current.session
    return session is None or id(function) in session.recorded
