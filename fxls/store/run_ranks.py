"""The ranks of one launch, and the first node by which two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fxls.graph_diff import GraphDiff, graph_diff
from fxls.listing import Identity
from fxls.record import Event, Made, RevisionName
from fxls.store import Store, StoreError
from fxls.store.runs import RunInList, Runs

__all__ = ["RankDifference", "differences", "ranks_of"]


@dataclass(frozen=True, slots=True)
class RankDifference:
    """The first graph that a rank has otherwise than the lowest one."""

    low: int
    rank: int
    identity: Identity
    """Without the rank."""
    old: RevisionName | None
    """The graph of the lowest rank; None where it has no such graph."""
    new: RevisionName | None
    """Likewise of the other rank."""
    diff: GraphDiff | None
    """None where one of the two has no such graph, or it cannot be read."""

    @property
    def first(self) -> tuple[RevisionName, int] | None:
        """The first node that one of them has and the other has not, or has otherwise."""
        if self.diff is None or self.diff.first is None:
            return None
        listing, node = self.diff.first
        name = self.old if listing is self.diff.old else self.new
        assert name is not None, "both were compared"
        return name, node


def ranks_of(runs: Runs, run: str) -> list[RunInList]:
    """The runs of the launch of a run that have a rank, by that, the newest of each.

    Raises `StoreError`.
    """
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
    made: list[tuple[int, dict[Identity, RevisionName]]] = []
    for one in ranks:
        try:
            made.append((one.run.rank or 0, _made(events(one.run.id))))
        except StoreError as error:
            report(error)
    found = (_first(made[0], other, store, report) for other in made[1:])
    return [one for one in found if one is not None]


def _made(events: Iterable[Event]) -> dict[Identity, RevisionName]:
    """The graphs that a run made, in their order, by the identity without its rank."""
    found: dict[Identity, RevisionName] = {}
    for event in events:
        if isinstance(event, Made):
            named = event.revision
            found[replace(named.identity, rank=None)] = named
    return found


def _first(
    low: tuple[int, dict[Identity, RevisionName]],
    other: tuple[int, dict[Identity, RevisionName]],
    store: Store,
    report: Callable[[StoreError], None],
) -> RankDifference | None:
    (rank, has), (other_rank, has_other) = low, other
    for identity in (*has, *(one for one in has_other if one not in has)):
        old, new = has.get(identity), has_other.get(identity)
        if old is None or new is None:
            return RankDifference(rank, other_rank, identity, old, new, None)
        if (old.text, old.facts) != (new.text, new.facts):
            try:
                diff = graph_diff(store.read_named(old), store.read_named(new))
            except StoreError as error:
                report(error)
                diff = None
            if diff is None or diff:
                return RankDifference(rank, other_rank, identity, old, new, diff)
    return None
