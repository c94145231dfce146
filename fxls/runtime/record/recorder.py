"""Takes the events of this process, and gives them to what writes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from fxls.record import End, Event, Pass

__all__ = ["Note", "Recorder", "Stamped", "Writes", "stamped"]

Note = Callable[[Event], None]
"""Takes note of an event; it never waits, and never raises."""

Stamped = tuple[Event, int, float, float]
"""An event, its thread, and the two clocks when it came."""


class Writes(Protocol):
    """What writes the events of a process."""

    def put(self, one: Stamped, /) -> None:
        """Take an event; it never waits, and never raises."""

    def flush(self) -> None:
        """Write what waits."""

    def finish(self, end: Stamped, /) -> None:
        """Write what waits, and the end."""

    def cut(self, end: Stamped, begin: Callable[[], None], /) -> None:
        """Write what waits, and the end; `begin` another run, of which is what comes."""


class Recorder:
    """Where all parts of an installation say what happened."""

    def __init__(self, writer: Writes | None = None) -> None:
        """Without a writer, nothing is recorded."""
        self._writer = writer
        self.called: Callable[[str], str] = str
        """What the record calls a compilation, by torch's name, which may repeat."""

    @property
    def is_on(self) -> bool:
        """Whether anybody wants to know, so that it is worth finding out."""
        return self._writer is not None

    def note(self, event: Event) -> None:
        """Take note of an event; it never waits, and never raises."""
        if self._writer is not None:
            if isinstance(event, Pass) and event.compilation is not None:
                event = replace(event, compilation=self.called(event.compilation))
            self._writer.put(stamped(event))

    def flush(self) -> None:
        """Write what was noted so far."""
        if self._writer is not None:
            self._writer.flush()

    def finish(self, raised: str | None = None) -> None:
        """Take note that the run ends, and of what it raised; then of nothing more."""
        if self._writer is not None:
            self._writer.finish(stamped(End(raised)))

    def cut(self, begin: Callable[[], None]) -> None:
        """Take note that the run ends, and `begin` another one, with what comes."""
        if self._writer is not None:
            self._writer.cut(stamped(End()), begin)


def stamped(event: Event) -> Stamped:
    """An event that happens now, in this thread."""
    return event, threading.get_ident(), time.monotonic(), time.time()
