"""What is said of the ranks of one launch: side by side, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fxls.cli.report import Sources, rows
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
        first = _first(one, sources)
        yield (
            f"rank {one.rank} differs from rank {one.low} in {one.graph}:"
            f" {one.summary}{first}"
        )
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
                "node": one.first and one.first.name,
                "text": one.first and one.first.text,
                "summary": one.summary,
            }
            for one in found
        ],
    }


def _first(one: RankDifference, sources: Sources) -> str:
    node = one.first
    if node is None:
        return ""
    where = f"{node.text}:{node.line + 1}"
    if node.place is not None:
        line = node.place.span.start.line + 1
        where += f", from {sources.name(node.place.path)}:{line}"
    alone = f" of rank {one.low}" if node.rank == one.low else ""
    return f", first at {node.name}{alone} ({where})"
