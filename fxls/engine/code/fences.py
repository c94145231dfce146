"""Fences around the names of nodes, by which their places are known once a text is whole.

A name stands between two fences, with a character in front of it that says what it does
there. These characters are private: no identifier has them and `repr` escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fxls.listing import Mark, Role

__all__ = [
    "BINDS",
    "FENCE",
    "FREES",
    "READS",
    "FindMarks",
    "KnownLines",
    "marks_in",
    "without_fences",
]

FindMarks: TypeAlias = Callable[[str, Mapping[str, int], int], tuple[Mark, ...]]
"""What `marks_in` is."""

FENCE = "\ue003"
BINDS, READS, FREES = "\ue003\ue000", "\ue003\ue001", "\ue003\ue002"
"""What stands in front of a name."""

_ROLES = {"\ue000": Role.BINDS, "\ue001": Role.READS, "\ue002": Role.FREES}


def without_fences(text: str) -> str:
    """The text that is left when the fences are taken away."""
    for one in (FENCE, *_ROLES):
        text = text.replace(one, "")
    return text


def marks_in(fenced: str, places: Mapping[str, int], above: int) -> tuple[Mark, ...]:
    """The marks of the text without its fences, with so many lines above it.

    `places` gives the place in the graph of the node with a name.
    """
    marks: list[Mark] = []
    add, roles = marks.append, _ROLES
    for number, line in enumerate(fenced.split("\n"), above):
        # Other text and names take turns; both ends are other text.
        parts = line.split(FENCE)
        if len(parts) == 1:
            continue
        column = len(parts[0])
        for i in range(1, len(parts), 2):
            named = parts[i]
            name = named[1:]
            length = len(name)
            add(Mark(number, column, length, places[name], roles[named[0]]))
            column += length + len(parts[i + 1])
    return tuple(marks)


class KnownLines:
    """Finds the marks in the texts of one graph, of which most lines are the same each
    time: these take a third of the time.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[tuple[int, int, str, Role], ...]] = {}
        """By line with its fences: column, length and name, and what that does there."""

    def marks_in(
        self, fenced: str, places: Mapping[str, int], above: int
    ) -> tuple[Mark, ...]:
        """As the function of this name."""
        lines = fenced.split("\n")
        before = self._found
        self._found = found = {
            line: before[line] if line in before else _found_in(line) for line in lines
        }
        return tuple(
            [
                Mark(number, column, length, places[name], role)
                for number, line in enumerate(lines, above)
                for column, length, name, role in found[line]
            ]
        )


def _found_in(line: str) -> tuple[tuple[int, int, str, Role], ...]:
    names = [named[1:] for named in line.split(FENCE)[1::2]]
    index = dict.fromkeys(names, 0)
    marks = marks_in(line, index, 0)
    return tuple(
        (mark.column, mark.length, name, mark.role)
        for mark, name in zip(marks, names, strict=True)
    )
