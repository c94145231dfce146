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
            trace = None if isinstance(fault, StoreError) else fault
            _log.warning("%s: %s", what_fails, reason, exc_info=trace)

    return say


_said = SaidOnce()
