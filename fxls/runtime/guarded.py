"""What may go wrong in the runtime while it serves somebody's program, said once.

The program goes on as if fxls were absent; that it does is worth more than a listing.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator

from fxls.store import StoreError

__all__ = ["FAULTS", "guarded"]

_log = logging.getLogger("fxls")

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    StoreError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What code of ours, and torch's internals that it reads, can raise.

Not what a program raises to be ended or interrupted, and not what the memory is out of.
"""


@contextlib.contextmanager
def guarded(what_fails: str) -> Generator[None]:
    """Log a fault, each once, and go on."""
    try:
        yield
    except FAULTS as fault:
        reason = str(fault) if isinstance(fault, StoreError) else repr(fault)
        kind = fault.problem if isinstance(fault, StoreError) else reason
        if (what_fails, kind) not in _said:
            _said.add((what_fails, kind))
            expected = isinstance(fault, StoreError)
            _log.warning("%s: %s", what_fails, reason, exc_info=not expected)


_said: set[tuple[str, str]] = set()
