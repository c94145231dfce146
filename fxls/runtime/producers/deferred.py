"""Work that can wait until the program has made what it is making.

The facts of a graph take as long as the graph itself took, and whoever makes graphs
makes several. So they are written by a thread of their own, which exists for as long as
there is work, and which the end of the program waits for. A kill loses what waits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable

from fxls.runtime.debugging import pydevd

__all__ = ["DeferredWork"]

_QUIET = 0.05
"""Seconds without new work after which the work begins."""

_LONGEST = 1.0
"""Seconds after which it begins anyway."""


_Work = Callable[[], None]
_Carried = Callable[[str, _Work], _Work]


class DeferredWork:
    """Work to be done soon; of two pieces with the same key, the last one.

    - A piece must not raise.
    - With a debugger it is done at once, because who stops in a listing wants its facts.
    """

    def __init__(
        self,
        compilation: Callable[[], str | None] = lambda: None,
        carried: _Carried = lambda _, work: work,
    ) -> None:
        """`compilation` gives the name of the one that runs in the thread that adds a
        piece, and `carried` lets a piece be done for that.

        Pieces of two compilations are two, as each may know another graph of one text.
        """
        self._compilation = compilation
        self._carried = carried
        self._forget()
        if hasattr(os, "register_at_fork"):  # Windows never forks
            os.register_at_fork(before=self._before_fork, after_in_child=self._forget)

    def add(self, key: Hashable, work: Callable[[], None]) -> None:
        """Let `work` be done soon."""
        of = self._compilation()
        with self._lock:
            if of is None:
                # A module that was compiled may be written again when it first runs.
                of = next((one for known, one in self._waiting if known == key), None)
            self._waiting.pop((key, of), None)
            self._waiting[key, of] = work if of is None else self._carried(of, work)
            self._added += 1
        if pydevd.is_loaded() or not self._started():
            self.finish()

    def finish(self) -> None:
        """Do all of it now."""
        with self._doing:
            while (work := self._next()) is not None:
                work()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            first = next(iter(self._waiting), None)
            return None if first is None else self._waiting.pop(first)

    def _started(self) -> bool:
        with self._lock:
            if self._thread is not None:
                return True
            thread = threading.Thread(target=self._run, name="fxls facts")
            pydevd.let_run(thread)
            try:
                thread.start()
            except RuntimeError:
                return False  # the interpreter ends, or there are too many threads
            self._thread = thread
            return True

    def _run(self) -> None:
        started, seen = time.monotonic(), -1
        # Joined with the main thread, so that the end of the program is not waited out.
        while seen != self._added and time.monotonic() - started < _LONGEST:
            seen = self._added
            threading.main_thread().join(_QUIET)
        while True:
            self.finish()
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return

    def _before_fork(self) -> None:
        """Leave no thread behind that a child would miss."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self.finish()
            thread.join()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._doing = threading.RLock()
        self._waiting: dict[tuple[Hashable, str | None], _Work] = {}
        self._thread: threading.Thread | None = None
        self._added = 0
