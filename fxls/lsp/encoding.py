"""Columns: code points inside fxls, code units of the client's choice outside."""

from __future__ import annotations

import enum

__all__ = ["Encoding"]


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
