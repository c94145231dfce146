"""A change to one file, as an editor offers it."""

from __future__ import annotations

from dataclasses import dataclass

from fxls.text import LineTable, Span

__all__ = ["Edit", "Fix", "applied", "moved"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that takes the place of a span."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change to one file, by what a person would call it."""

    title: str
    path: str
    edits: tuple[Edit, ...]
    is_preferred: bool = False
    can_be_tried: bool = False
    """Whether a run of the changed file can say that it repairs something."""


def applied(fix: Fix, text: str) -> str:
    """The text of the file with the change."""
    lines = LineTable(text)
    # From the end; of edits at one point the first stands first.
    edits = sorted(fix.edits, key=lambda one: one.span)
    for edit in edits[::-1]:
        start, end = lines.offset(edit.span.start), lines.offset(edit.span.end)
        text = text[:start] + edit.text + text[end:]
    return text


def moved(fix: Fix, text: str, span: Span) -> Span:
    """Where a span of the file is after the change; with the whole of what takes the
    place of a part of it.
    """
    lines, after = LineTable(text), LineTable(applied(fix, text))
    start, end = lines.offset(span.start), lines.offset(span.end)
    ahead = inside = 0
    for edit in fix.edits:
        first, last = lines.offset(edit.span.start), lines.offset(edit.span.end)
        longer = len(edit.text) - (last - first)
        if last <= start:
            ahead += longer
        elif first < end:
            start, end = min(start, first), max(end, last)
            inside += longer
    return Span(after.point(start + ahead), after.point(end + ahead + inside))
