"""What may go wrong in the runtime while it serves somebody's program, said once.

The program goes on as if fxls were absent; that it does is worth more than a listing.
So every exception counts: of ours, of torch's internals that we read, of objects of the
user's that stand in a graph, and a warning where warnings are errors. What a program
raises to be ended or interrupted is no `Exception`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from fxls.attempt import attempting
from fxls.said_once import SaidOnce
from fxls.store import StoreError

__all__ = ["logging_faults", "saying"]

_log = logging.getLogger("fxls")


def logging_faults(what_fails: str) -> contextlib.AbstractContextManager[None]:
    """Log a fault in the block, each once, and go on behind the block."""
    return attempting(saying(what_fails))


def saying(what_fails: str) -> Callable[[Exception], None]:
    """What logs a fault, each once."""

    def say(fault: Exception) -> None:
        reason = str(fault) if isinstance(fault, StoreError) else repr(fault)
        kind = fault.problem if isinstance(fault, StoreError) else reason
        if _said.is_first(what_fails, kind):
            trace = None if isinstance(fault, StoreError) else _short(fault)
            _log.warning("%s: %s", what_fails, _cut(reason), exc_info=trace)

    return say


def _cut(reason: str) -> str:
    return reason if len(reason) <= _MOST_SAID else f"{reason[:_MOST_SAID]} …"


def _short(fault: Exception) -> Exception:
    """The fault itself, or one that says the beginning of it from the same place."""
    reason = repr(fault)
    if len(reason) <= _MOST_SAID:
        return fault
    return RuntimeError(_cut(reason)).with_traceback(fault.__traceback__)


_MOST_SAID = 1_000
"""Characters; some exceptions of torch's have a whole graph for a message."""

_said = SaidOnce()
