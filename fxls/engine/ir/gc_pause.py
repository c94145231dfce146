"""The cyclic garbage collector, kept away while many nodes are made.

Nodes are alive for as long as their graph: at 100,000 nodes the collector would walk
all of them again and again, for up to half of the time, and find nothing.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["paused"]

_lock = threading.Lock()
_depth = 0


@contextmanager
def paused() -> Generator[None]:
    """No collection inside the block, of any thread; nested blocks are one."""
    global _depth  # noqa: PLW0603 - the collector is global as well
    with _lock:
        if _depth == 0 and not gc.isenabled():
            was_on = False
        else:
            _depth += 1
            was_on = True
            gc.disable()
    try:
        yield
    finally:
        if was_on:
            with _lock:
                _depth -= 1
                if _depth == 0:
                    gc.enable()
