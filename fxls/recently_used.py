"""Values that stay in memory while they are asked for, within bounds.

There may be thousands: nothing here walks over all that are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["RecentlyUsed"]

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class RecentlyUsed(Generic[_Key, _Value]):
    """Values by key, those that were kept last at the end; more than one thread may ask.

    Those that were kept first go for one that is kept; the last one always stays.
    """

    def __init__(
        self,
        *,
        size_of: Callable[[_Value], int],
        largest: int,
        about: Callable[[_Value], Hashable],
        most_about: int,
        most: int | None = None,
    ) -> None:
        """All together are no larger than `largest`, of those `about` the same thing there
        are `most_about`, and there are `most`, if that is bounded.
        """
        self._size_of, self._largest = size_of, largest
        self._about, self._most_about = about, most_about
        self._most = most
        self._kept: dict[_Key, _Value] = {}
        self._keys: dict[Hashable, dict[_Key, None]] = {}
        """What is kept about each thing, in the same order."""
        self._size = 0
        self._lock = Lock()

    def __iter__(self) -> Iterator[_Value]:
        return iter([*self._kept.values()])

    def get(self, key: _Key) -> _Value | None:
        """What is kept under a key; asking moves it to no other place."""
        return self._kept.get(key)

    def keep(self, key: _Key, value: _Value) -> tuple[_Key, ...]:
        """Keep one as the latest; returns the keys of those that had to go for it."""
        gone: list[_Key] = []
        with self._lock:
            if self._kept.get(key) is value:
                self._move_to_end(key, value)
                return ()
            self._take(key)
            self._kept[key] = value
            self._size += self._size_of(value)
            same = self._keys.setdefault(self._about(value), {})
            same[key] = None
            while len(same) > self._most_about:
                gone.append(self._first(same))
            while self._is_too_much() and len(self._kept) > 1:
                gone.append(self._first(self._kept))
        return (*gone,)

    def _move_to_end(self, key: _Key, value: _Value) -> None:
        self._kept[key] = self._kept.pop(key)
        same = self._keys[self._about(value)]
        same[key] = same.pop(key)

    def _is_too_much(self) -> bool:
        is_many = self._most is not None and len(self._kept) > self._most
        return is_many or self._size > self._largest

    def _first(self, among: Iterable[_Key]) -> _Key:
        """Let go of what was not kept for the longest."""
        key = next(iter(among))
        self._take(key)
        return key

    def _take(self, key: _Key) -> None:
        if key in self._kept:
            value = self._kept.pop(key)
            self._size -= self._size_of(value)
            same = self._keys[self._about(value)]
            del same[key]
            if not same:
                del self._keys[self._about(value)]
