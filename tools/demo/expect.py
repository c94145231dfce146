"""What the demo says must be so: a step that went otherwise ends it."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["NotSoError", "expect", "expect_some"]

_T = TypeVar("_T")


class NotSoError(Exception):
    """A step of the demo did not go as the demo says."""


def expect(so: object, what: str) -> None:
    """Ends the demo unless `so`."""
    if not so:
        raise NotSoError(what)


def expect_some(value: _T | None, what: str) -> _T:
    """The value, which must be there."""
    if value is None:
        raise NotSoError(what)
    return value
