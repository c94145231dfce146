"""Takes the events of this process, and gives them to what writes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from fxls.record import Event

__all__ = ["Note", "Recorder", "Stamped"]

Note = Callable[[Event], None]
"""Takes note of an event; it never waits, and never raises."""

Stamped = tuple[Event, int, float, float]
"""An event, its thread, and the two clocks when it came."""


class Recorder:
    """Where all parts of an installation say what happened."""

    def __init__(self, put: Callable[[Stamped], None] | None = None) -> None:
        """`put` takes what was noted, and must neither wait nor raise; None takes none."""
        self._put = put

    @property
    def is_on(self) -> bool:
        """Whether anybody wants to know, so that it is worth finding out."""
        return self._put is not None

    def note(self, event: Event) -> None:
        """Take note of an event; it never waits, and never raises."""
        if self._put is not None:
            self._put((event, threading.get_ident(), time.monotonic(), time.time()))
