"""What stands beside the code without being asked: shapes behind names."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from fxls.ide.document import Document
from fxls.ide.values import short_form
from fxls.listing import Role, Tensor
from fxls.text import Point

__all__ = ["Hint", "hints"]


@dataclass(frozen=True, slots=True)
class Hint:
    """A text to show at a point, between the characters of a line."""

    point: Point
    text: str


def hints(document: Document, first: int, last: int) -> tuple[Hint, ...]:
    """The shape and dtype of each tensor that the lines `first` to `last` bind."""
    marks = document.listing.marks
    start = bisect_left(marks, first, key=lambda mark: mark.line)
    end = bisect_right(marks, last, key=lambda mark: mark.line)
    found: list[Hint] = []
    for mark in marks[start:end]:
        value = document.listing.nodes[mark.node].value
        if mark.role is Role.BINDS and isinstance(value, Tensor):
            found.append(Hint(mark.span.end, f": {short_form(value)}"))
    return tuple(found)
