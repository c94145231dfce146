"""How the demo looks: headings, excerpts, and an editor's view in plain text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from fxls.text import Span

__all__ = ["act", "excerpt", "line", "narrowed", "say", "snippet", "under"]

WIDTH = 112
_COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def act(number: int, title: str, what: str) -> None:
    """A heading, and a sentence that says what to look at."""
    rule = "─" * (WIDTH - len(title) - 5)
    print(f"\n{_bold(f'{number}  {title}')} {_dim(rule)}")
    print(f"   {what}\n")


def say(text: str) -> None:
    """A remark between what is shown."""
    print(f"   {_bold(text)}")


def under(lines: Iterable[str]) -> None:
    """What a program answered, set off from what the demo says."""
    for text in lines:
        print(f"   {_dim('│')} {_cut(text)}".rstrip())
    print()


def excerpt(lines: Sequence[str], head: int, tail: int) -> list[str]:
    """The first and the last lines; the middle is counted."""
    if len(lines) <= head + tail + 1:
        return list(lines)
    left_out = len(lines) - head - tail
    return [*lines[:head], f"… {left_out} more lines", *lines[-tail:]]


def narrowed(table: Sequence[str], leave_out: str) -> list[str]:
    """A table without one column, each other as wide as what is left in it."""
    starts = [found.start() for found in re.finditer(r"\S+", table[0])]
    ends = [*starts[1:], None]
    columns = [
        [row[start:end].rstrip() for row in table]
        for start, end in zip(starts, ends, strict=True)
    ]
    kept = [column for column in columns if column[0] != leave_out]
    widths = [max(map(len, column)) for column in kept]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in zip(*kept, strict=True)
    ]


def line(number: int, text: str, *, arrow: bool = False) -> str:
    """A line of a file as an editor numbers it."""
    return f"{'→' if arrow else ' '}{number:4}  {text}"


def snippet(text: str, span: Span) -> list[str]:
    """The first line that a span covers, with carets under what it covers."""
    row = text.splitlines()[span.start.line]
    last = span.end.column if span.end.line == span.start.line else len(row)
    blank = len(row) - len(row.lstrip())
    carets = " " * (span.start.column - blank) + "^" * (last - span.start.column)
    return [line(span.start.line + 1, row.strip()), "       " + carets]


def _cut(text: str) -> str:
    room = WIDTH - 5
    return text if len(text) <= room else text[: room - 2] + " …"


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if _COLOURS else text


def _dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m" if _COLOURS else text
