"""The patterns of inductor that a pass had matches of, and where each is written."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from fxls.record import MatchedPattern, QuotedPlace
from fxls.record.quoted_place import Sources

__all__ = ["Matches", "code_of", "functions_of", "named", "written_in"]

_MOST = 32
"""So many patterns are named of one pass."""

_CHECKED = "search_fn"
"""What torch calls, in what it checks a match with, the function that it looks for."""


class Matches:
    """How many matches each pattern had; a pattern is an entry of torch's."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, int]] = {}
        """By identity, as an entry has no hash."""

    def add(self, entry: Any) -> None:
        """Count a match."""
        _, count = self._found.get(id(entry), (entry, 0))
        self._found[id(entry)] = entry, count + 1

    def named(self) -> tuple[MatchedPattern, ...]:
        """What the record says of them."""
        found = list(self._found.values())[:_MOST]
        return tuple(named(entry, count) for entry, count in found)


def named(entry: Any, count: int) -> MatchedPattern:
    """What the record says of a pattern."""
    own = getattr(entry, "pattern_name", None)
    place = next(filter(None, map(written_in, functions_of(entry))), None)
    name = own or (place.place.function if place else type(entry).__name__)
    return MatchedPattern(name, count, place)


def written_in(function: Any) -> QuotedPlace | None:
    """Where a function begins; None for what is none of Python's."""
    code = code_of(function)
    if code is None:
        return None
    name = code.co_qualname.rpartition("<locals>.")[2]
    return Sources().quoted(code.co_filename, code.co_firstlineno, name)


def code_of(function: Any) -> CodeType | None:
    """The code of a function; None for what is none of Python's."""
    while isinstance(function, functools.partial):
        function = function.func
    bare: Any = function if function is None else inspect.unwrap(function)
    code = getattr(bare, "__code__", None)
    return code if isinstance(code, CodeType) else None


def functions_of(entry: Any) -> Iterator[Any]:
    """What the pattern was made of: the function that handles a match, or is looked for."""
    yield getattr(entry, "handler", None)
    # Who asks it may be watched.
    check = inspect.unwrap(getattr(entry, "extra_check", _no_check))
    if inspect.isfunction(check):
        yield inspect.getclosurevars(check).nonlocals.get(_CHECKED)


def _no_check(_match: Any) -> bool:
    return True
