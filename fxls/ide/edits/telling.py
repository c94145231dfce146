"""Calls that tell a person something: they print, warn or log."""

from __future__ import annotations

import ast

from fxls.ide.edits.python_source import PythonSource, dotted

__all__ = ["can_wait", "is_logged", "tells"]

_LOGGED = frozenset(
    {"debug", "info", "warning", "error", "critical", "exception", "log"}
)


def tells(source: PythonSource, call: ast.Call) -> bool:
    """Whether a call does nothing but tell something."""
    return can_wait(source, call) or is_logged(call)


def can_wait(source: PythonSource, call: ast.Call) -> bool:
    """Whether torch.compile can make a call behind the graph."""
    callee = dotted(call.func)
    return callee == "print" or (
        callee == "warnings.warn" and source.said_as("warnings") == "warnings"
    )


def is_logged(call: ast.Call) -> bool:
    """Whether a call has a name by which loggers are called."""
    of, _, name = dotted(call.func).rpartition(".")
    return bool(of) and name in _LOGGED
