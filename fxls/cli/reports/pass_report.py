"""Passes for programs, and the graphs that they were given and left."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from fxls.cli.report import place_as_json
from fxls.listing import Listing
from fxls.record import Pass, RevisionName
from fxls.record.pattern_runs import PatternRuns
from fxls.store import Store, StoreError

__all__ = ["pass_as_json", "reading", "runs_as_json"]


def pass_as_json(one: Pass, root: Path) -> dict[str, Any]:
    """A pass for programs."""

    def path(name: RevisionName | None) -> str | None:
        return None if name is None else str(root / name.text)

    return {
        "name": one.name,
        "ordinal": one.ordinal,
        "compilation": one.compilation,
        "producer": one.producer,
        "stage": one.stage,
        "under": one.under,
        "subgraph": one.subgraph,
        "seconds": one.seconds,
        "changed": one.changed,
        "raised": one.raised,
        "before": path(one.before),
        "after": path(one.after),
        "created": {"count": one.created.count, "first": one.created.first},
        "erased": {"count": one.erased.count, "first": one.erased.first},
        "replaced": {"count": one.replaced.count, "first": one.replaced.first},
        "altered": {"count": one.altered.count, "first": one.altered.first},
        "patterns": [
            {
                "name": pattern.name,
                "count": pattern.count,
                "place": pattern.place and place_as_json(pattern.place.place),
            }
            for pattern in one.patterns
        ],
        "saved": {"count": one.saved.count, "first": one.saved.first},
        "recomputed": {"count": one.recomputed.count, "first": one.recomputed.first},
        "reasons": {"count": one.reasons.count, "first": one.reasons.first},
    }


def runs_as_json(one: PatternRuns) -> dict[str, Any]:
    """How often a pass looked for its patterns, for programs."""
    return {
        "name": one.name,
        "ran": one.ran,
        "matched": one.matched,
        "patterns": [
            {
                "name": pattern.name,
                "ran": pattern.ran,
                "matched": pattern.matched,
                "place": pattern.place and place_as_json(pattern.place.place),
            }
            for pattern in one.patterns.values()
        ],
    }


def reading(store: Store, most: int = 2) -> Callable[[RevisionName], Listing | None]:
    """What reads listings of a store, and keeps so many of those that it read last."""

    @lru_cache(most)  # what one pass left is what the next one was given
    def read(name: RevisionName) -> Listing | None:
        try:
            return store.read_named(name)
        except StoreError:
            return None

    return read
