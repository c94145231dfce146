"""The copy of a graph of torch's that its listing was made of, kept for the next one.

Who recompiles a module again and again has changed few nodes each time. The copy goes
along with the graph, so that its other nodes keep the lines that were written of them,
which is half of the time. A module whose code is made once keeps none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fxls.engine.code.codegen import MarkedCode, marked_code
from fxls.engine.graph import Graph
from fxls.runtime.producers.snapshot import EngineCopy, Snapshot

__all__ = ["KeptCopy"]


class KeptCopy:
    """What is kept of one module while one listing of it is made.

    - In the meantime nobody else has it: another thread makes a copy of its own.
    """

    def __init__(self, module: Any) -> None:
        self._class = _class_of(module)
        self._slot: list[EngineCopy] | None = _held_by(self._class).get(_COPY)
        self._copy: EngineCopy | None = None

    def written(
        self, snapshot: Snapshot, source: str
    ) -> tuple[Graph, MarkedCode | None]:
        """The graph of a snapshot and its code; None where that is not `source`."""
        try:
            last = self._slot.pop() if self._slot else None
        except IndexError:
            last = None  # another thread was faster
        copy = None if last is None else snapshot.follow(last)
        if copy is not None:
            code = marked_code(copy.graph)
            if code.code.src == source:
                self._copy = copy
                return copy.graph, code
        self._copy = copy = snapshot.copied()
        return copy.graph, None

    def put_back(self) -> None:
        """Keep what was made for the next listing, if this one is not the first."""
        if self._slot is None:
            setattr(self._class, _COPY, [])
        elif self._copy is not None and self._copy.can_follow:
            self._slot[:] = [self._copy]


_class_of: Callable[[Any], Any] = type
_held_by: Callable[[Any], Mapping[str, Any]] = vars
_COPY = "_fxls_copy"
"""Of the class of a graph module, which each has for itself: copies of the module do not
have it, and it lives as long."""
