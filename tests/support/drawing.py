"""Draws spans into their text, so that a test can show what it expects."""

from __future__ import annotations

from collections.abc import Iterable

from fxls.text import LineTable, Point, Span

__all__ = ["cursor", "drawn"]


def cursor(text: str) -> tuple[str, Point]:
    """A text without its ``$0``, and the point where it was."""
    before, mark, after = text.partition("$0")
    assert mark, "the text has no $0"
    return before + after, LineTable(before + after).point(len(before))


def drawn(text: str, marks: Iterable[tuple[Span, str]]) -> str:
    """Each line that has a mark, with the marks of it underneath and their labels."""
    lines = LineTable(text)
    out: list[str] = []
    shown = -1
    for span, label in sorted(marks):
        if span.start.line != shown:
            shown = span.start.line
            out.append(lines.line(shown))
        end = span.end.column if span.end.line == shown else len(lines.line(shown))
        carets = "^" * (end - span.start.column) or "|"
        tail = "" if span.end.line == shown else f" to {span.end.line}:"
        out.append(" " * span.start.column + carets + tail + f" {label}".rstrip())
    return "\n".join(out)
