"""How often each pass looked for its patterns in a run, and how many matches it had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fxls.record import Event, QuotedPlace, Searched

__all__ = ["PatternRuns", "pattern_runs_of"]

_MOST = 1_000


@dataclass(slots=True)
class PatternRuns:
    """A pass that looks for patterns, or one pattern of it."""

    name: str
    place: QuotedPlace | None = None
    """Where a pattern is written."""
    ran: int = 0
    """How often it was looked for."""
    matched: int = 0
    """How many matches it had, in all of that."""
    patterns: dict[object, PatternRuns] = field(
        default_factory=dict["object", "PatternRuns"]
    )
    """Those of the program; empty for a pattern."""

    def count(self, matches: int) -> None:
        """It was looked for once more."""
        self.ran += 1
        self.matched += matches


def pattern_runs_of(events: Iterable[Event]) -> tuple[PatternRuns, ...]:
    """The passes that looked for patterns, in the order in which they began to.

    Of one name are several, where they look for patterns of the program that are not the
    same.
    """
    found: dict[object, PatternRuns] = {}
    for one in events:
        if not isinstance(one, Searched):
            continue
        keys = [(pattern.name, pattern.place) for pattern in one.patterns]
        key = one.name, *keys
        if key not in found and len(found) >= _MOST:
            continue
        ran = found.setdefault(key, PatternRuns(one.name))
        ran.count(one.count)
        for of, pattern in zip(keys, one.patterns, strict=True):
            ran.patterns.setdefault(of, PatternRuns(*of)).count(pattern.count)
    return tuple(found.values())
