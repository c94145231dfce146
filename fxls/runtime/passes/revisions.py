"""Writes the graph that a pass left, or was given, as a revision of its listing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol

from fxls.listing import ToParent
from fxls.record import RevisionName
from fxls.runtime.faults import logging_faults
from fxls.runtime.listings.head import Leading, Words
from fxls.runtime.passes.change import Change
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.producers.capture import Capture, Revised
from fxls.said_once import SaidOnce

__all__ = [
    "MOST",
    "Lister",
    "Point",
    "head_after",
    "head_before",
    "head_of_half",
    "listed",
    "note_made",
]


class Lister(Protocol):
    """What makes listings of the graphs of one system."""

    def kept(self, module: Any, /) -> Callable[[Capture], Revised]:
        """Keep a graph as it is; what is returned writes it as a listing."""
        ...

    def note_made(self, node: Any, name: str, olds: Sequence[Any], /) -> None:
        """Let a pass have made a node in place of others."""
        ...

    def running(self, module: Any, /) -> RevisionName | None:
        """The revision that a module runs; None where its code is in no store."""
        ...

    def made_from(self, module: Any, /) -> str | None:
        """The file of the listing that a new module's graph is of, or was made from."""
        ...


def note_made(
    lister: Lister, name: str, found: Change, before: GraphState, after: GraphState
) -> None:
    """Let this pass have made the new nodes of a graph, each in place of earlier ones."""
    named = {*found.created, *chain.from_iterable(found.made_from.values())}
    olds = {row.name: row.node for row in before.rows if row.name in named}
    news = {row.name: row.node for row in after.rows if row.name in named}
    for made in found.created:
        made_from = [olds[one] for one in found.made_from.get(made, ())]
        lister.note_made(news[made], name, made_from)


MOST = 5_000
"""So many graphs at most one process writes for its passes."""

_log = logging.getLogger("fxls")
_said = SaidOnce()

_NAMES = 8
"""So many nodes of each kind a head names."""


class Point:
    """A graph at one moment, which is written when somebody needs that."""

    written = 0
    """How many were, in this process."""

    def __init__(
        self, module: Any, lister: Lister, state: GraphState | None = None
    ) -> None:
        self.state = state or GraphState(module)
        self._kept = lister.kept(module)
        self._revision: RevisionName | None = None

    def is_listed_as(self, revision: RevisionName) -> None:
        """Let it be in the store already, unless it was written before."""
        self._revision = self._revision or revision

    def revision(
        self, capture: Capture | None, header: tuple[Words, ...]
    ) -> RevisionName | None:
        """How the store names it; it is written with this head if it was not before."""
        if self._revision is None and capture is not None and _may_write():
            with logging_faults("what a pass made of a graph is no revision"):
                Point.written += 1
                revised = self._kept(replace(capture, header=header))
                self._revision = RevisionName(revised.identity, revised.file)
        return self._revision


def _may_write() -> bool:
    """Whether this process may write one more graph; that it may not is said once."""
    if Point.written >= MOST and _said.is_first():
        _log.warning(
            "fxls wrote %d graphs for the passes of this program: it records further "
            "passes without their graphs",
            MOST,
        )
    return Point.written < MOST


def head_before(capture: Capture, name: str) -> tuple[Words, ...]:
    """What is above the code of the graph that a pass was given."""
    return ((f"{_subject(capture)}, before {name}.",),)


def head_of_half(
    capture: Capture, before: RevisionName | None, said: tuple[Words, ...]
) -> tuple[Words, ...]:
    """What is above the code of a graph that a partition made, and says of it."""
    rows: list[Words] = [(f"{_subject(capture)}, as the partition left it.",)]
    if before is not None:
        link = Leading(before.text, ToParent(before.text))
        rows.append(("It was made from ", link, "."))
    return (*rows, *said)


def head_after(
    capture: Capture,
    name: str,
    found: Change,
    before: RevisionName | None,
    raised: str | None,
) -> tuple[Words, ...]:
    """What is above the code of the graph that a pass left."""
    rows: list[Words] = [(f"{_subject(capture)}, after {name}.",)]
    if before is not None:
        link = Leading(before.text, ToParent(before.text))
        rows.append(("It was made from ", link, "."))
    if raised is not None:
        rows.append((f"The pass raised {raised}",))
    became: dict[str, str] = {}
    for old, new in found.replaced:
        became[old] = f"{became[old]} and {new}" if old in became else f"{old} by {new}"
    gone = [name for name in found.erased if name not in became]
    rows += [
        (f"{verb} {listed(names)}.",)
        for verb, names in (
            ("Created", found.created),
            ("Erased", gone),
            ("Replaced", [*became.values()]),
            ("Altered", found.altered),
            ("Moved", found.moved),
        )
        if names
    ]
    return tuple(rows)


def _subject(capture: Capture) -> str:
    name = f" of {capture.root[1]}" if capture.root else ""
    return f"It is {capture.stage}{name}" if capture.stage else f"It is the graph{name}"


def listed(names: tuple[str, ...] | list[str]) -> str:
    """As many names as a head has, in a row."""
    shown = ", ".join(names[:_NAMES])
    more = len(names) - _NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
