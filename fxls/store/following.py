"""The copy of a store on another machine follows it, as programs there go on writing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fxls.store.errors import StoreError
from fxls.store.remote import Mirror, Unreachable

__all__ = ["Follower"]

_EVERY = 2.0
_SELDOM = 60.0
"""Seconds between two looks at the other end, and while it does not answer."""


class Follower:
    """Pulls a mirror from time to time, in a thread, until it is closed.

    `report` is called in that thread with each new trouble.
    """

    def __init__(
        self, mirror: Mirror, report: Callable[[Unreachable | StoreError], object]
    ) -> None:
        self.root = mirror.root
        self._mirror = mirror
        self._report = report
        self._closed = threading.Event()
        # Nobody waits for its end: the network may hold it up.
        thread = threading.Thread(target=self._run, name="fxls copies", daemon=True)
        thread.start()

    def close(self) -> None:
        """Pull no more."""
        self._closed.set()

    def _run(self) -> None:
        wait, said = _EVERY, ""
        while True:
            try:
                self._mirror.pull()
            except (Unreachable, StoreError) as trouble:
                if str(trouble) != said:
                    self._report(trouble)
                said, wait = str(trouble), min(2 * wait, _SELDOM)
            else:
                said, wait = "", _EVERY
            if self._closed.wait(wait):
                return
