"""Whether the values of a listing live longer than the code needs them."""

from __future__ import annotations

__all__ = ["KeepValues"]


class KeepValues:
    """True while the listings that are made keep their values.

    They then live until the forward returns, so that a debugger can show them, and not
    to their last use.
    """

    def __init__(self) -> None:
        self._keeps = False

    def __bool__(self) -> bool:
        return self._keeps

    def set(self, keep: bool) -> None:  # noqa: FBT001 - its name says it
        """Let the listings made from now on keep their values, or let them go."""
        self._keeps = keep
