"""What a person is told the first time and not again."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["SaidOnce"]


class SaidOnce:
    """The things that were said already."""

    def __init__(self) -> None:
        self._said: set[Hashable] = set()

    def is_first(self, *thing: Hashable) -> bool:
        """Whether a thing was not said yet; from this call on it counts as said."""
        if thing in self._said:
            return False
        self._said.add(thing)
        return True

    def forget(self, *thing: Hashable) -> None:
        """Let a thing be said once more."""
        self._said.discard(thing)
