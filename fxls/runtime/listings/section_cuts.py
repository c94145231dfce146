"""Where a long row of statements is cut into sections: between submodules, if possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

__all__ = ["SECTION", "common", "cuts"]

SECTION = 128
"""Lines that a section has at most; at least half of it, but for the last one."""


def cuts(paths: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first row of each section and the one behind its last.

    `paths` are the module paths of the rows. Of the places where a section may end that
    one is taken where most submodules end; of equal ones the last.
    """
    start = 0
    while len(paths) - start > SECTION:
        places = range(start + SECTION // 2, start + SECTION + 1)
        end = min(places, key=lambda at: (_through(paths, at), -at))
        yield start, end
        start = end
    yield start, len(paths)


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
