"""Where a long row of statements is cut into sections: between submodules, if possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

__all__ = ["SECTION", "common", "cuts"]

SECTION = 128
"""Lines that a section has at most. Each but the last has at least half of what it may."""

_ASTRAY = 16 * 120
"""By how many units of bytecode a section may be longer or shorter than 16 for each line.
Python 3.12 and 3.13 are slow to find a line that is 127 times that away from its place
(`docs/debugging.md`)."""


def cuts(paths: Sequence[str], texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first row of each section and the one behind its last.

    `paths` are the module paths of the rows, `texts` their lines. Of the places where a
    section may end that one is taken where most submodules end; of equal ones the last.
    """
    start = 0
    while (last := _furthest(texts, start)) < len(paths):
        places = range((start + last) // 2, last + 1)
        end = min(places, key=lambda at: (_through(paths, at), -at))
        yield start, end
        start = end
    yield start, len(paths)


def _furthest(texts: Sequence[str], start: int) -> int:
    """The row behind the last that a section may have which begins with a row."""
    astray = 0
    last = min(start + SECTION, len(texts))
    for at in range(start, last):
        text = texts[at]
        # About as many units as there are: to read an attribute takes ten, a call four.
        units = 10 * text.count(".") + 4 * text.count("(") + text.count(" ")
        astray += units - 16
        if abs(astray) > _ASTRAY and at > start + 1:
            return at
    return last


def common(paths: Iterable[str]) -> str:
    """The module that all of these are in; empty for the root."""
    different = iter(set(paths))
    shared = next(different, "").split(".")
    for path in different:
        parts = path.split(".")
        while shared != parts[: len(shared)]:
            shared.pop()
    return ".".join(shared)


def _through(paths: Sequence[str], at: int) -> int:
    """How many calls of modules a cut in front of a row divides."""
    before, behind = paths[at - 1], paths[at]
    if before == behind:
        return before.count(".") + 2
    shared = common((before, behind))
    return shared.count(".") + bool(shared)
