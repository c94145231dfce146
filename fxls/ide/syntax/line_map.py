"""Where the lines of a text went while it was edited."""

from __future__ import annotations

from difflib import SequenceMatcher

from fxls.text import Point, Span

__all__ = ["LineMap"]

_BOUND = 2000
"""Lines that are compared; a file with more changed ones is taken as all different."""


class LineMap:
    """The lines that two texts have in common, in order."""

    def __init__(self, before: str, after: str) -> None:
        old, new = before.split("\n"), after.split("\n")
        top = _common(old, new)
        bottom = _common(old[top:][::-1], new[top:][::-1])
        old_middle = old[top : len(old) - bottom]
        new_middle = new[top : len(new) - bottom]
        pairs = [(top + a, top + b) for a, b in _matching(old_middle, new_middle)]
        pairs += [(line, line) for line in range(top)]
        pairs += [(len(old) - n, len(new) - n) for n in range(1, bottom + 1)]
        self._new = dict(pairs)
        self._old = {b: a for a, b in pairs}

    @classmethod
    def unknown(cls) -> LineMap:
        """Nothing is known of the earlier text, so no line of it is found."""
        return cls("before", "after")

    def before(self, point: Point) -> Point | None:
        """Where a point of the text was; None when its line was edited."""
        line = self._old.get(point.line)
        return None if line is None else Point(line, point.column)

    def after(self, span: Span) -> Span | None:
        """Where a span of the earlier text is; None when a line of it was edited."""
        shift = self._new.get(span.start.line)
        if shift is None:
            return None
        shift -= span.start.line
        for line in range(span.start.line, span.end.line + 1):
            if self._new.get(line) != line + shift:
                return None
        return Span(
            Point(span.start.line + shift, span.start.column),
            Point(span.end.line + shift, span.end.column),
        )


def _common(old: list[str], new: list[str]) -> int:
    """How many lines the two have in common at their beginning."""
    count = 0
    for a, b in zip(old, new, strict=False):
        if a != b:
            break
        count += 1
    return count


def _matching(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    if len(old) + len(new) > _BOUND:
        return []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        (block.a + offset, block.b + offset)
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    ]
