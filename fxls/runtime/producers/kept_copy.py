"""The copy of a graph of torch's that its listing was made of, kept for the next one.

Who recompiles a module again and again has changed few nodes each time. The copy goes
along with the graph, so that its other nodes keep the lines that were written of them,
which is half of the time. A module whose code is made once keeps none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fxls.engine.code.codegen import MarkedCode, marked_code
from fxls.engine.code.fences import KnownLines
from fxls.engine.graph import Graph
from fxls.runtime.producers.snapshot import EngineCopy, Snapshot

__all__ = ["KeptCopy"]


class _Kept(NamedTuple):
    copy: EngineCopy
    lines: KnownLines


class KeptCopy:
    """What is kept of one module while one listing of it is made.

    - In the meantime nobody else has it: another thread makes a copy of its own.
    """

    def __init__(self, module: Any) -> None:
        self._class = _class_of(module)
        self._slot: list[_Kept] | None = _held_by(self._class).get(_COPY)
        self._kept: _Kept | None = None

    def written(
        self, snapshot: Snapshot, source: str
    ) -> tuple[Graph, MarkedCode | None]:
        """The graph of a snapshot and its code; None where that is not `source`."""
        last = self._taken()
        copy = None if last is None else snapshot.follow(last.copy)
        if last is not None and copy is not None:
            code = marked_code(copy.graph, find=last.lines.marks_in)
            if code.code.src == source:
                self._kept = _Kept(copy, last.lines)
                return copy.graph, code
        copy = snapshot.copied()
        self._kept = _Kept(copy, KnownLines())
        return copy.graph, None

    def put_back(self) -> None:
        """Keep what was made for the next listing, if this one is not the first."""
        if self._slot is None:
            setattr(self._class, _COPY, [])
        elif self._kept is not None and self._kept.copy.can_follow:
            self._slot[:] = [self._kept]

    def _taken(self) -> _Kept | None:
        try:
            return self._slot.pop() if self._slot else None
        except IndexError:
            return None  # another thread was faster


_class_of: Callable[[Any], Any] = type
_held_by: Callable[[Any], Mapping[str, Any]] = vars
_COPY = "_fxls_copy"
"""Of the class of a graph module, which each has for itself: copies of the module do not
have it, and it lives as long."""
