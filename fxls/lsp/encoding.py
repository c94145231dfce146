"""Columns: code points inside fxls, code units of the client's choice outside."""

from __future__ import annotations

import enum
from collections.abc import Callable

from fxls.text import LineTable

__all__ = ["Encoding", "counter"]


class Encoding(enum.Enum):
    """What a client counts when it counts characters."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    def units(self, line: str, column: int) -> int:
        """The units in front of a column; columns behind the line go to its end."""
        before = line[: max(column, 0)]
        if self is Encoding.UTF32 or before.isascii():
            return len(before)
        if self is Encoding.UTF8:
            return len(before.encode("utf-8", "surrogatepass"))
        return len(before) + sum(character > "\uffff" for character in before)

    def column(self, line: str, units: int) -> int:
        """The column of so many units; inside a character, the column in front of it.

        Units behind the line go to its end, as the protocol asks.
        """
        if self is Encoding.UTF32 or line.isascii():
            return min(max(units, 0), len(line))
        for column, character in enumerate(line):
            units -= self.units(character, 1)
            if units < 0:
                return column
        return len(line)


def counter(encoding: Encoding, lines: LineTable) -> Callable[[int, int], int]:
    """What counts the units in front of many places of one text, by line and column.

    The places are in the text. Where all of that is ASCII, no line is looked at.
    """
    if lines.text.isascii():
        return lambda _, column: column
    return lambda line, column: encoding.units(lines.line(line), column)
