"""Takes note of each listing that is made, and of the compilation that it is made in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextvars import ContextVar

from fxls.record import Made, RevisionName
from fxls.runtime.record.recorder import Note
from fxls.runtime.record.run_head import ThisRun
from fxls.store import Revision

__all__ = ["NotedListings"]

_of: ContextVar[str | None] = ContextVar("fxls_listing_of", default=None)
"""The compilation whose listings are written in this thread, behind its back."""


class NotedListings:
    """What a store tells of each listing, told once in a run and for each compilation."""

    def __init__(
        self, note: Note, run: ThisRun, compilation: Callable[[], str | None]
    ) -> None:
        """`compilation` gives the name of the one that runs in this thread."""
        self._note = note
        self._run = run
        self._compilation = compilation
        self._noted: set[tuple[str, str, str, str | None]] = set()
        self._listings: dict[str, list[RevisionName]] = defaultdict(list)

    def made(self, revision: Revision) -> None:
        """Take note of a listing."""
        name = revision.path.name
        of = _of.get() or self._compilation()
        key = (self._run.id, name, revision.facts, of)
        if key not in self._noted:
            self._noted.add(key)
            made = RevisionName(revision.identity, name, revision.facts)
            self._note(Made(made, of))
            self._listings[of or ""].append(made)

    def of(self, compilation: str) -> Sequence[RevisionName]:
        """The listings of a compilation that are written, in their order."""
        return self._listings.get(compilation, ())

    def carried(self, compilation: str, work: Callable[[], None]) -> Callable[[], None]:
        """Work for later and another thread, on listings of a compilation."""

        def carrying() -> None:
            token = _of.set(compilation)
            try:
                work()
            finally:
                _of.reset(token)

        return carrying
