"""What torch.compile does in a block of a program, as events and without a store."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from fxls.record import Event
from fxls.runtime.hooks import Hooks
from fxls.runtime.producers.compilations import Compilations
from fxls.runtime.producers.places import frame_columns

__all__ = ["hearing"]


@contextlib.contextmanager
def hearing() -> Generator[list[Event]]:
    """In the block, the events of what is compiled; an installation may be there too."""
    events: list[Event] = []
    compilations = Compilations(events.append)
    hooks = Hooks((*frame_columns.hooks(), *compilations.hooks()))
    hooks.put_in()
    compilations.attach()
    try:
        yield events
    finally:
        compilations.detach()
        hooks.take_out()
