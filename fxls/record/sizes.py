"""What was found out of sizes, made of a record: those of a function's inputs, and those
that only a run of the program knows.

Of each function it is what its last compilation, or export, says.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

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
from fxls.record.size_conditions import Bounds, Condition, condition

__all__ = [
    "DataSize",
    "InputSize",
    "SizeGuard",
    "is_of_sizes",
    "sizes_of",
]

_MOST = 2_000
_MOST_GUARDS = 50
"""So many guards of a size are said."""


@dataclass(frozen=True, slots=True)
class SizeGuard:
    """What was asked of a size, and has to hold from then on."""

    text: str
    """As a program would write it, as ``x.size(0) > 4``."""
    place: QuotedPlace | None = None
    """The line that asked."""


@dataclass(frozen=True, slots=True)
class InputSize:
    """What holds for one dimension of one input, or for an input that is a number."""

    function: QuotedPlace
    """The first line of the function."""
    name: str
    dimension: int | None
    """None for a number."""
    value: str = ""
    """What it always is; empty where it is dynamic."""
    since: QuotedPlace | None = None
    """The line that made it so."""
    low: str = ""
    high: str = ""
    """Between which it may be, both included; empty without a bound."""
    equals: str = ""
    """For a size that follows from others, what it is equal to."""
    guards: tuple[SizeGuard, ...] = ()
    """Those that it is in, in the order in which they were made."""


@dataclass(frozen=True, slots=True)
class DataSize:
    """A size, or a number, that depends on values: only a run of the program knows it."""

    symbol: str
    """torch's name for it, as ``u0``."""
    place: QuotedPlace
    """The line that it comes from."""
    low: str = ""
    high: str = ""
    """As far as guards say."""
    guards: tuple[SizeGuard, ...] = ()


def is_of_sizes(entry: Entry) -> bool:
    """Whether something follows from an event for sizes."""
    return isinstance(entry.event, Compilation | Guards | Remark)


def sizes_of(entries: Iterable[Entry]) -> tuple[InputSize | DataSize, ...]:
    """What is known of sizes in each function."""
    known = (one for each in _lasts(entries) for one in _sizes(each))
    return tuple(itertools.islice(known, _MOST))


@dataclass(slots=True)
class _Last:
    """What is known of the last compilation of a function."""

    function: QuotedPlace
    guards: Guards | None
    fixed: list[Remark]
    is_rest: bool
    """Whether it is what is behind a graph break, whose parameters nobody wrote."""


def _lasts(entries: Iterable[Entry]) -> Iterator[_Last]:
    last: dict[object, tuple[str, QuotedPlace, bool]] = {}
    guards: dict[str, Guards] = {}
    fixed: dict[str, list[Remark]] = {}
    for entry in entries:
        match entry.event:
            case Compilation(outcome=Outcome.OK | Outcome.BREAK) as one if one.place:
                is_rest = one.cause is Cause.CONTINUATION
                last[one.place.place, is_rest] = one.id, one.place, is_rest
            case Guards() as one:
                guards[one.compilation] = one
                if one.function is not None:
                    key = one.function.place, False
                    last[key] = one.compilation, one.function, False
            case Remark(subject=Subject.SPECIALIZED, compilation=str(name)) as one:
                fixed.setdefault(name, []).append(one)
            case _:
                pass
    for name, place, is_rest in last.values():
        yield _Last(place, guards.get(name), fixed.get(name, []), is_rest)


def _sizes(last: _Last) -> Iterator[InputSize | DataSize]:
    yield from _inputs(last)
    yield from _of_data(last)


def _inputs(last: _Last) -> Iterator[InputSize]:
    if last.is_rest:
        return
    found: dict[tuple[str, int | None], InputSize] = {}
    for remark in last.fixed:
        parts = _ABOUT.fullmatch(remark.about)
        if parts is not None:
            since = remark.places[0] if remark.places else None
            key = parts[1], int(parts[2])
            found[key] = InputSize(last.function, *key, remark.was, since)
    asked = _asked(last.guards)
    for guard in last.guards.first if last.guards else ():
        said = condition(guard.text) if guard.kind == _LEFT else None
        for key, bounds in said.bounds.items() if said else ():
            size = InputSize(last.function, *key, low=bounds.low, high=bounds.high)
            found.setdefault(key, size)
        if said is not None and said.equal is not None:
            key, text = said.equal
            found.setdefault(key, InputSize(last.function, *key, equals=text))
    for key, size in found.items():
        of = tuple(guard for one, guard in asked if key in one.sizes)
        yield replace(size, guards=of[:_MOST_GUARDS])


def _of_data(last: _Last) -> Iterator[DataSize]:
    if last.guards is None:
        return
    asked = _asked(last.guards)
    for one in last.guards.unbacked:
        if one.place is None:
            continue
        bounds = Bounds()
        for said, _ in asked:
            bounds = bounds.with_all(said.bounds.get((one.text, None)))
        of = tuple(guard for said, guard in asked if one.text in said.symbols)
        yield DataSize(one.text, one.place, bounds.low, bounds.high, of[:_MOST_GUARDS])


def _asked(guards: Guards | None) -> list[tuple[Condition, SizeGuard]]:
    """What the program asked of sizes, in its order."""
    found: dict[SizeGuard, Condition] = {}
    for one in guards.first if guards else ():
        said = condition(one.text) if one.kind == _ASKED else None
        if said is not None:
            found.setdefault(SizeGuard(said.text, one.place), said)
    return [(said, guard) for guard, said in found.items()]


_ASKED = "SIZE"
_LEFT = "SHAPE_ENV"
"""The kind of what is checked of sizes in the end, which follows from what was asked."""
_ABOUT = re.compile(r"([^\W\d]\w*): size (\d+)")
