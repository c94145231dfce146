"""What torch.compile found out of the sizes of a function's inputs, made of a record.

Of each function it is what its last compilation says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fxls.record import (
    Cause,
    Compilation,
    Entry,
    Guards,
    Outcome,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.record.failed_guards import size_of

__all__ = ["InputSize", "is_of_sizes", "sizes_of"]

_MOST = 2_000


@dataclass(frozen=True, slots=True)
class InputSize:
    """What holds for one dimension of one input."""

    function: QuotedPlace
    """The first line of the function."""
    name: str
    dimension: int
    value: str = ""
    """What it always is; empty where it is dynamic."""
    since: QuotedPlace | None = None
    """The line that made it so."""
    low: str = ""
    high: str = ""
    """Between which it may be, both included; empty without a bound."""


def is_of_sizes(entry: Entry) -> bool:
    """Whether something follows from an event for sizes."""
    return isinstance(entry.event, Compilation | Guards | Remark)


def sizes_of(entries: Iterable[Entry]) -> tuple[InputSize, ...]:
    """The sizes that are known of the inputs of each function."""
    last: dict[object, Compilation] = {}
    guards: dict[str, Guards] = {}
    fixed: dict[str, list[Remark]] = {}
    for entry in entries:
        match entry.event:
            case Compilation() as one if (
                one.place and one.cause is not Cause.CONTINUATION
            ):
                if one.outcome in (Outcome.OK, Outcome.BREAK):
                    last[one.place.place] = one
            case Guards() as one:
                guards[one.compilation] = one
            case Remark(subject=Subject.SPECIALIZED, compilation=str(name)) as one:
                fixed.setdefault(name, []).append(one)
            case _:
                pass
    found: dict[tuple[str, str, int], InputSize] = {}
    for one in last.values():
        assert one.place is not None
        for remark in fixed.get(one.id, ()):
            parts = _ABOUT.fullmatch(remark.about)
            if parts is not None:
                since = remark.places[0] if remark.places else None
                key = one.id, parts[1], int(parts[2])
                found[key] = InputSize(one.place, *key[1:], remark.was, since)
        known = guards.get(one.id)
        for guard in known.first if known else ():
            bound = _BOUND.fullmatch(guard.text)
            parts = bound and _ABOUT.fullmatch(size_of(bound[2]))
            if bound and parts:
                key = one.id, parts[1], int(parts[2])
                size = InputSize(one.place, *key[1:], low=bound[1], high=bound[3] or "")
                found.setdefault(key, size)
    return tuple(found.values())[:_MOST]


_ABOUT = re.compile(r"([^\W\d]\w*): size (\d+)")
_BOUND = re.compile(r"(\d+) <= (\S+)(?: <= (\d+))?")
"""How torch writes what is left of a dynamic size."""
