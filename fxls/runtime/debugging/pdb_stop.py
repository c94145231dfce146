"""A stop in Python's own debugger, in a frame that called us, on the line it is on."""

from __future__ import annotations

import bdb
import pdb  # noqa: T100 - the program's debugger is looked for, and asked
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

__all__ = ["stop_in_pdb"]

_RUN = bdb.Bdb.run.__code__


def stop_in_pdb(frame: FrameType, said: str) -> bool:
    """Stop in the pdb that this program runs under; whether there is one.

    Raises `bdb.BdbQuit` when the person quits there.
    """
    debugger = next(_debuggers(frame), None)
    if debugger is None:
        return False
    debugger.message(said)
    trace: Any = debugger.trace_dispatch
    at: FrameType | None = frame
    while at is not None and at is not debugger.botframe:
        at.f_trace = trace
        at = at.f_back
    debugger.interaction(frame, None)
    if debugger.quitting:
        raise bdb.BdbQuit
    # With nothing to stop at, pdb has turned the tracing off.
    if debugger.breaks or debugger.stoplineno != -1:
        sys.settrace(trace)
    return True


def _debuggers(frame: FrameType) -> Iterator[pdb.Pdb]:
    """The pdb that traces, and else the one whose command the program is.

    It stops tracing when it has no breakpoint, and is still there.
    """
    tracing = getattr(sys.gettrace(), "__self__", None)
    if isinstance(tracing, pdb.Pdb):
        yield tracing
    at: FrameType | None = frame
    while at is not None:
        found = getattr(at.f_trace, "__self__", None)
        if at.f_code is _RUN:
            found = at.f_locals.get("self")
        if isinstance(found, pdb.Pdb):
            yield found
        at = at.f_back
