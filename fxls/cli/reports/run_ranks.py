"""What is said of the ranks of one launch: side by side, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fxls.cli.report import Sources, rows
from fxls.graph_diff import summary
from fxls.store.run_ranks import RankDifference
from fxls.store.runs import RunInList

__all__ = ["ranks_as_json", "ranks_text"]


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
                "node": _node(one),
                "text": None if one.first is None else one.first[0].text,
                "summary": None if one.diff is None else summary(one.diff),
            }
            for one in found
        ],
    }


def _node(one: RankDifference) -> str | None:
    if one.diff is None or one.diff.first is None:
        return None
    listing, node = one.diff.first
    return listing.nodes[node].name


def _how(one: RankDifference, sources: Sources) -> str:
    if one.diff is None:
        if one.old is not None and one.new is not None:
            return "a listing cannot be read"
        return f"rank {one.rank if one.new is None else one.low} has no such graph"
    said = summary(one.diff)
    if one.diff.first is None or one.first is None:
        return said
    listing, node = one.diff.first
    origin = listing.origin(node)
    where = f"{one.first[0].text}:{listing.nodes[node].line + 1}"
    if origin is not None:
        place = origin.places[0]
        where += f", from {sources.name(place.path)}:{place.span.start.line + 1}"
    alone = f" of rank {one.low}" if listing is one.diff.old else ""
    return f"{said}, first at {listing.nodes[node].name}{alone} ({where})"
