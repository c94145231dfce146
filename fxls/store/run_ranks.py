"""The ranks of one launch, and the first node by which each differs from the lowest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fxls.graph_diff import graph_diff, summary
from fxls.listing import Identity, Place
from fxls.record import Event, Made, RevisionName
from fxls.store import Store, StoreError
from fxls.store.runs import RunInList, Runs

__all__ = ["DifferentNode", "RankDifference", "differences", "ranks_of"]


@dataclass(frozen=True, slots=True)
class DifferentNode:
    """A node that one of two ranks has and the other has not, or has otherwise."""

    rank: int
    """The rank that has it: the other one, where both do."""
    text: str
    """The name of the file of the listing."""
    name: str
    line: int
    """In the listing."""
    place: Place | None
    """The expression of the source."""


@dataclass(frozen=True, slots=True)
class RankDifference:
    """The first graph that a rank has otherwise than the lowest one."""

    low: int
    rank: int
    identity: Identity
    """Without the rank."""
    summary: str
    first: DifferentNode | None
    """None where one of the two has no such graph, or it cannot be read."""

    @property
    def graph(self) -> str:
        """What people call it."""
        return f"{self.identity.qualname}, {self.identity.stage}".rstrip(", ")


_Graphs = dict[Identity, RevisionName]


def ranks_of(runs: Runs, run: str) -> list[RunInList]:
    """The runs of the launch of a run that have a rank, by that, the newest of each.

    Raises `StoreError`.
    """
    if runs.one(run).run.rank is None:
        return []
    found: dict[int, RunInList] = {}
    for name in runs.launch_of(run):
        each = runs.one(name)
        if each.run.rank is not None:
            found[each.run.rank] = each
    return [found[rank] for rank in sorted(found)] if len(found) > 1 else []


def differences(
    ranks: Sequence[RunInList],
    events: Callable[[str], Iterable[Event]],
    store: Store,
    report: Callable[[StoreError], None],
) -> list[RankDifference]:
    """For each rank whose graphs are not those of the lowest one, the first difference.

    `events` gives those of a run, by its id.
    """
    made: list[tuple[int, _Graphs]] = []
    for one in ranks:
        try:
            made.append((one.run.rank or 0, _made(events(one.run.id))))
        except StoreError as error:
            report(error)
    found = (_first(made[0], other, store, report) for other in made[1:])
    return [one for one in found if one is not None]


def _made(events: Iterable[Event]) -> _Graphs:
    """The graphs that a run made, in their order, by the identity without its rank."""
    found: _Graphs = {}
    for event in events:
        if isinstance(event, Made):
            named = event.revision
            found[replace(named.identity, rank=None)] = named
    return found


def _first(
    low: tuple[int, _Graphs],
    other: tuple[int, _Graphs],
    store: Store,
    report: Callable[[StoreError], None],
) -> RankDifference | None:
    (rank, has), (other_rank, has_other) = low, other
    for identity in (*has, *(one for one in has_other if one not in has)):
        old, new = has.get(identity), has_other.get(identity)
        found: tuple[str, DifferentNode | None] | None
        if old is None or new is None:
            lacks = other_rank if new is None else rank
            found = (f"rank {lacks} has no such graph", None)
        elif (old.text, old.facts) == (new.text, new.facts):
            continue
        else:
            try:
                found = _compared(store, (rank, old), (other_rank, new))
            except StoreError as error:
                report(error)
                found = ("a listing cannot be read", None)
        if found is not None:
            return RankDifference(rank, other_rank, identity, *found)
    return None


def _compared(
    store: Store, low: tuple[int, RevisionName], other: tuple[int, RevisionName]
) -> tuple[str, DifferentNode | None] | None:
    """What is different, in short and by its first node; raises `StoreError`."""
    diff = graph_diff(store.read_named(low[1]), store.read_named(other[1]))
    if not diff:
        return None
    if diff.first is None:
        return summary(diff), None
    listing, node = diff.first
    rank, name = low if listing is diff.old else other
    facts, origin = listing.nodes[node], listing.origin(node)
    place = None if origin is None else origin.places[0]
    return summary(diff), DifferentNode(rank, name.text, facts.name, facts.line, place)
