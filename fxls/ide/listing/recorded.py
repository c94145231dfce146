"""What the record of a run says of a listing: the passes that its graph went through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fxls.ide.listing.document import Document
from fxls.record import OUTSIDE, Pass, RevisionName
from fxls.record.first_pass import Asked, Found

__all__ = [
    "Making",
    "ReadGraph",
    "Recorded",
    "askable",
    "change_of",
    "makings",
    "pass_name",
    "placed",
    "said",
    "where_of",
]

_MOST = 8
"""So many passes back a node is followed."""

ReadGraph = Callable[[RevisionName], Document | None]
"""The document of a listing of the same store, as a record names it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The passes that were given a graph, in the order in which they ended."""

    run: str
    step: tuple[Pass, ...]
    """All that were given it in its step of its compilation."""
    count: int | None = None
    """How many of them ran before the graph was that of the listing; None when only the
    graphs tell.
    """

    @property
    def before(self) -> tuple[Pass, ...]:
        """Those through which the graph of the listing went."""
        return self.step[: self.count or 0]


def placed(recorded: Recorded, document: Document, read: ReadGraph) -> Recorded | None:
    """The same, with how many of the passes there were before the graph of a listing;
    None where the graph is that of none of them.
    """
    if recorded.count is not None:
        return recorded
    wanted = _calls_of(document)
    for at in range(len(recorded.step) - 1, -1, -1):
        ran = recorded.step[at]
        for name, count in ((ran.after, at + 1), (ran.before, at)):
            found = None if name is None or not ran.changed else read(name)
            if found is not None and _calls_of(found) == wanted:
                return replace(recorded, count=count)
    return None


def _calls_of(document: Document) -> list[tuple[object, ...]]:
    return [(f.name, f.target, f.args, f.kwargs) for f in document.listing.nodes]


@dataclass(frozen=True, slots=True)
class Making:
    """A pass that made a node."""

    node: str
    ran: Pass
    made_from: tuple[str, ...]
    """The nodes in whose place it stands."""
    before: Document | None
    after: Document | None


def makings(name: str, recorded: Recorded, read: ReadGraph) -> Iterator[Making]:
    """The pass that made a node, then the one that made what it was made from, and so on.

    Where a node was made from several, the first of them is followed.
    """
    passes = recorded.before
    for _ in range(_MOST):
        at = _made_at(name, passes, read)
        if at is None:
            return
        ran = passes[at]
        before = None if ran.before is None else read(ran.before)
        after = None if ran.after is None else read(ran.after)
        made_from = _made_from(name, after)
        yield Making(name, ran, made_from, before, after)
        if not made_from:
            return
        name = made_from[0]
        # What is a part of this pass may have made it as well.
        passes = passes[:at]


def _made_at(name: str, passes: tuple[Pass, ...], read: ReadGraph) -> int | None:
    """Which pass made a node; of one and one that ran inside it, the inner one."""
    found: int | None = None
    for at, ran in enumerate(passes):
        if not ran.changed:
            continue
        if name in ran.erased.first:
            found = None
        if found is None and _creates(ran, name, read):
            found = at
    return found


def _creates(ran: Pass, name: str, read: ReadGraph) -> bool:
    if name in ran.created.first:
        return True
    if ran.created.count <= len(ran.created.first):
        return False
    before = None if ran.before is None else read(ran.before)
    after = None if ran.after is None else read(ran.after)
    if before is None or after is None:
        return False
    return _has(name, after) and not _has(name, before)


def _has(name: str, document: Document) -> bool:
    return any(facts.name == name for facts in document.listing.nodes)


def _made_from(name: str, document: Document | None) -> tuple[str, ...]:
    for facts in () if document is None else document.listing.nodes:
        if facts.name == name:
            return facts.made_from
    return ()


def askable(name: str, recorded: Recorded) -> tuple[Asked, ...]:
    """What can be asked about a node, as far as the record tells.

    It does not tell nodes that moved from those that have other arguments.
    """
    found: list[Asked] = []
    changing = [one for one in recorded.step if one.changed]
    if any(name in one.created.first for one in changing):
        found.append(Asked.MADE)
    if any(name in one.altered.first for one in changing):
        found += (Asked.ALTERED, Asked.MOVED)
    if any(name in one.erased.first for one in changing):
        found.append(Asked.GONE)
    return tuple(found)


def pass_name(ran: Pass) -> str:
    """A pass by its name, and by which of those with its name it is."""
    return ran.name if ran.ordinal < 2 else f"{ran.name} ({ran.ordinal})"


def where_of(ran: Pass) -> tuple[str, ...]:
    """Which graph a pass was given, in words: stage and compilation of a compiler's, as
    of ``joint, 0/0``, and the class of any other, as ``Net torch.fx``.
    """
    stage = ran.stage or ran.producer
    if ran.compilation is not None:
        return (stage, ran.compilation)
    known = ran.after or ran.before
    return (stage if known is None else f"{known.identity.class_name} {stage}",)


def change_of(ran: Pass) -> str:
    """How many nodes a pass made, erased and changed: ``+1 -1 ~2``."""
    counts = (("+", ran.created), ("-", ran.erased), ("~", ran.altered))
    return " ".join(f"{sign}{names.count}" for sign, names in counts if names.count)


def said(found: Found) -> str:
    """An answer as a sentence."""
    ran = found.ran
    where = ", ".join(where_of(ran))
    by = f"The pass {pass_name(ran)}" if ran.name != OUTSIDE else "Outside of any pass"
    return f"{by}, in {where}: {found.node} {found.reason}."
