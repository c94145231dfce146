"""The ranks of one launch side by side, and the first node by which two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fxls.cli.report import Sources, rows
from fxls.graph_diff import GraphDiff, graph_diff, summary
from fxls.listing import Identity
from fxls.record import Made, RevisionName
from fxls.store import Store, StoreError
from fxls.store.runs import RunInList, Runs

__all__ = ["RankDifference", "differences", "ranks_as_json", "ranks_of", "ranks_text"]


@dataclass(frozen=True, slots=True)
class RankDifference:
    """The first graph that a rank has otherwise than the lowest one."""

    low: int
    rank: int
    identity: Identity
    diff: GraphDiff | None
    """None where one of the two has no such graph."""


def ranks_of(one: RunInList, runs: Sequence[RunInList]) -> list[RunInList]:
    """The runs of the launch of a run that have a rank, by that, the newest of each."""
    found: dict[int, RunInList] = {}
    for each in runs:
        rank = each.run.rank
        if rank is not None and each.run.launch == one.run.launch:
            found.setdefault(rank, each)
    return [found[rank] for rank in sorted(found)] if len(found) > 1 else []


def differences(
    ranks: Sequence[RunInList],
    runs: Runs,
    store: Store,
    report: Callable[[StoreError], None],
) -> list[RankDifference]:
    """For each rank whose graphs are not those of the lowest one, the first difference."""
    if not ranks:
        return []
    low, *others = ranks
    found: list[RankDifference] = []
    try:
        first = _made(runs, low)
        for other in others:
            difference = _first(first, _made(runs, other), store)
            if difference is not None:
                assert low.run.rank is not None, "it is one of the ranks"
                assert other.run.rank is not None, "likewise"
                found.append(RankDifference(low.run.rank, other.run.rank, *difference))
    except StoreError as error:
        report(error)
    return found


def ranks_text(
    ranks: Sequence[RunInList], found: Sequence[RankDifference], sources: Sources
) -> Iterator[str]:
    """A line for each rank, and one for each that is different."""
    head = ("rank", "state", "compilations", "recompilations", "breaks", "time", "run")
    yield rows(
        head,
        [
            (
                *(str(one.run.rank), one.state.value, str(one.summary.compilations)),
                *(str(one.summary.recompilations or ""), str(one.summary.breaks or "")),
                *(f"{one.summary.seconds:.1f} s", one.run.id),
            )
            for one in ranks
        ],
    )
    for one in found:
        name = f"{one.identity.qualname}, {one.identity.stage}".rstrip(", ")
        yield f"rank {one.rank} differs from rank {one.low} in {name}: {_how(one, sources)}"
    if not found:
        yield "the graphs of all ranks are the same"


def ranks_as_json(
    ranks: Sequence[RunInList], found: Sequence[RankDifference]
) -> dict[str, Any]:
    """The ranks for programs."""
    return {
        "ranks": [{"rank": one.run.rank, "run": one.run.id} for one in ranks],
        "rank_differences": [
            {
                "ranks": [one.low, one.rank],
                "identity": msgspec.to_builtins(one.identity),
                "node": _node(one.diff),
                "summary": None if one.diff is None else summary(one.diff),
            }
            for one in found
        ],
    }


def _made(runs: Runs, one: RunInList) -> dict[Identity, RevisionName]:
    """The graphs that a run made, in their order, by the identity without its rank."""
    found: dict[Identity, RevisionName] = {}
    for entry in runs.read(one.run.id).entries:
        if isinstance(entry.event, Made):
            named = entry.event.revision
            found[msgspec.structs.replace(named.identity, rank=None)] = named
    return found


def _first(
    low: dict[Identity, RevisionName], other: dict[Identity, RevisionName], store: Store
) -> tuple[Identity, GraphDiff | None] | None:
    for identity in (*low, *(one for one in other if one not in low)):
        one, two = low.get(identity), other.get(identity)
        if one is None or two is None:
            return identity, None
        if one.text != two.text or one.facts != two.facts:
            diff = graph_diff(store.read_named(one), store.read_named(two))
            if diff:
                return identity, diff
    return None


def _node(diff: GraphDiff | None) -> str | None:
    if diff is None or diff.first is None:
        return None
    return diff.new.nodes[diff.first].name


def _how(one: RankDifference, sources: Sources) -> str:
    if one.diff is None:
        return "one of them has no such graph"
    said = summary(one.diff)
    at = one.diff.first
    if at is None:
        return said
    origin = one.diff.new.origin(at)
    where = ""
    if origin is not None:
        place = origin.places[0]
        line = place.span.start.line + 1
        where = f" ({sources.name(place.path)}:{line})"
    return f"{said}, first at {one.diff.new.nodes[at].name}{where}"
