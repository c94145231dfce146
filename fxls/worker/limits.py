"""The time and the memory that one trace may use, in the process that serves it.

The supervisor's own deadline stands behind these: they exist because only the process
itself can say which line it was on.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

__all__ = ["MemoryLimit", "end_time", "limit_time", "watch_for_death"]

if sys.platform != "win32":
    import resource


def limit_time(seconds: float, at_end: Callable[[FrameType | None], None]) -> None:
    """Call `at_end` with the frame that runs when the time is over.

    It is not raised as an exception, because user code could catch that. Python gets
    to it between two instructions; see `watch_for_death` for code that never returns
    from C.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda _, frame: at_end(frame))
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


def end_time() -> None:
    """Stop the clock of `limit_time`."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)


class MemoryLimit:
    """How much more this process may map than it does by now; None for any amount.

    Without effect where the platform cannot say how much is mapped.
    """

    def __init__(self, extra: int | None) -> None:
        self._limits: tuple[int, int] | None = None
        if extra is None or sys.platform != "linux":
            return
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = pages * resource.getpagesize() + extra
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        # The hard limit stays, so that the process can lift its own to say what happened.
        self._limits = limit, hard

    def set(self) -> None:
        """Let it hold from here on."""
        self._become(lifted=False)

    def lift(self) -> None:
        """Let it hold no longer."""
        self._become(lifted=True)

    def _become(self, *, lifted: bool) -> None:
        if self._limits is not None and sys.platform == "linux":
            limit, hard = self._limits
            resource.setrlimit(resource.RLIMIT_AS, (hard if lifted else limit, hard))


def watch_for_death(pipe: int, seconds: float) -> None:
    """Write where the code is to `pipe` when it crashes, or when `seconds` are over."""
    faulthandler.enable(pipe, all_threads=False)
    faulthandler.dump_traceback_later(seconds, file=pipe)
