"""Points, spans and line tables: the only coordinates inside fxls.

Lines and columns count from zero, columns in code points. Byte columns (Python's
own tables) and UTF-16 columns (LSP) are turned into these at the border that meets
them and nowhere else.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, count
from operator import add

import msgspec

__all__ = ["LineTable", "Point", "Span", "line_table"]


class Point(msgspec.Struct, frozen=True, order=True, gc=False):
    """A place between two characters of a text."""

    line: int
    column: int


class Span(msgspec.Struct, frozen=True, order=True, gc=False):
    """The characters from `start` up to, and without, `end`."""

    start: Point
    end: Point

    @staticmethod
    def of(line: int, column: int, end_line: int, end_column: int) -> Span:
        """The span between two points given as numbers."""
        return Span(Point(line, column), Point(end_line, end_column))

    def touches(self, point: Point) -> bool:
        """Whether a cursor at `point` is on the span; right behind it counts."""
        return self.start <= point <= self.end

    def meets(self, other: Span) -> bool:
        """Whether the two have a place in common; touching counts."""
        return self.start <= other.end and other.start <= self.end

    def encloses(self, other: Span) -> bool:
        """Whether every character of `other` is one of this span."""
        return self.start <= other.start and other.end <= self.end


class LineTable:
    r"""Where the lines of one text begin.

    Only ``\n`` ends a line: a ``\r`` before it is a character of the line, as it is
    for Python's tokenizer columns and for LSP positions that stay in front of it.
    """

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        # A list of numbers takes five times the memory, and a text may be all line ends.
        self._starts = array("q", (0,))
        lengths = accumulate(map(len, text.split("\n")))
        self._starts.extend(map(add, lengths, count(1)))
        # The last line ends with the text.
        self._starts.pop()

    def __len__(self) -> int:
        return len(self._starts)

    def line(self, line: int) -> str:
        """The characters of a line without its end; empty outside the text."""
        if not 0 <= line < len(self._starts):
            return ""
        start = self._starts[line]
        end = (
            self._starts[line + 1] - 1
            if line + 1 < len(self._starts)
            else len(self.text)
        )
        return self.text[start:end].removesuffix("\r")

    def offset(self, point: Point) -> int:
        """The index of a point in the text; points outside go to the nearest inside."""
        if point.line < 0:
            return 0
        if point.line >= len(self._starts):
            return len(self.text)
        return self._starts[point.line] + min(
            max(point.column, 0), len(self.line(point.line))
        )

    def point(self, offset: int) -> Point:
        """The point of an index; indices outside the text go to its nearest end."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return Point(line, offset - self._starts[line])

    def slice(self, span: Span) -> str:
        """The characters of a span."""
        return self.text[self.offset(span.start) : self.offset(span.end)]


@lru_cache(maxsize=4)
def line_table(text: str) -> LineTable:
    """The lines of a text that others ask about as well.

    Remembered, because each key that is pressed asks a few times.
    """
    return LineTable(text)
