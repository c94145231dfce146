"""What a paused debugger is asked to show behind the lines of a listing."""

from __future__ import annotations

from dataclasses import dataclass

from fxls.ide.listing.document import Document
from fxls.listing import Role
from fxls.text import Span

__all__ = ["Lookup", "lookups"]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A name that has a value while the program is stopped."""

    span: Span
    name: str


def lookups(
    document: Document, first: int, last: int, stopped: int
) -> tuple[Lookup, ...]:
    """The names that the lines bind, as long as the lines were run.

    `stopped` is the line that is about to run. A name that was given up by then has
    no value any more.
    """
    return tuple(
        Lookup(mark.span, document.lines.slice(mark.span))
        for mark in document.marks_in(first, min(last, stopped - 1))
        if mark.role is Role.BINDS and not _is_freed(document, mark.node, stopped)
    )


def _is_freed(document: Document, node: int, line: int) -> bool:
    """Whether a name was given up on a line before another one."""
    marks = document.marks_of(node)
    return any(mark.role is Role.FREES and mark.line < line for mark in marks)
