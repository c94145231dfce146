"""A place in a source with what stands there, as the record of a run keeps it."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from fxls import regular_file
from fxls.listing import Place, source_digest
from fxls.record import QuotedPlace
from fxls.record.failed_guards import expression_span, head_span, input_span
from fxls.text import Span

__all__ = ["Columns", "Sources", "of_program", "read_as", "written_at"]

_LONGEST = 2_000
"""So many characters of a line are kept."""
_LONGEST_WRITTEN = 160

_LAUNCH = "/fxls/launching/here.py"
"""How the file ends from which `fxls run` calls a program: the stacks in a log are often
those of another machine, where fxls is in another folder."""


def of_program(
    frames: Iterable[tuple[str, int, str]],
) -> Iterator[tuple[str, int, str]]:
    """The frames of a stack that are the program's, of all from the innermost on."""
    return itertools.takewhile(
        lambda frame: not frame[0].replace("\\", "/").endswith(_LAUNCH), frames
    )


def written_at(quoted: QuotedPlace) -> str:
    """What is written at a place, in a line; of several lines the first, with an ellipsis."""
    span = quoted.place.span
    is_one_line = span.start.line == span.end.line
    end = span.end.column if is_one_line else len(quoted.line)
    text = quoted.line[span.start.column : end].strip() or quoted.line
    words = " ".join(text.split())[:_LONGEST_WRITTEN]
    return words if is_one_line else f"{words} …"


@contextlib.contextmanager
def read_as(path: str, text: str) -> Generator[None]:
    """In the block a file is quoted as if it held this text."""
    _others[path] = _digest_and_lines(text.encode("utf-8", "surrogatepass"))
    try:
        yield
    finally:
        del _others[path]


class Columns(NamedTuple):
    """A span as Python's own tables have it: lines from one, columns in bytes."""

    line: int
    column: int
    end_line: int | None
    """None where it is not known on which line the last column is."""
    end_column: int


class Sources:
    """Files of which places are quoted."""

    def __init__(self, *, read: bool = True) -> None:
        """Without `read` no file is read, and a place has its line and no text.

        Files that somebody else's log names must not be: their lines would be shown.
        """
        self._read = _read if read else _unread

    def quoted(
        self, path: str, line: int, function: str, columns: Columns | None = None
    ) -> QuotedPlace:
        """A line of a file, from one; the whole line where nobody knows the columns."""
        digest, lines = self._read(path)
        at = max(0, line - 1)
        text = lines[at] if at < len(lines) else ""
        span = Span.of(at, len(text) - len(text.lstrip()), at, len(text.rstrip()))
        known = None if columns is None else _span(columns, lines)
        if known is not None:
            span, text = known, lines[known.start.line]
        return QuotedPlace(Place(path, function, span), text[:_LONGEST], digest)

    def at(self, place: Place) -> QuotedPlace:
        """A place with what stands there."""
        digest, lines = self._read(place.path)
        at = place.span.start.line
        text = lines[at] if at < len(lines) else ""
        return QuotedPlace(place, text[:_LONGEST], digest)

    def head_of(self, function: QuotedPlace) -> QuotedPlace:
        """The name of a function, instead of its first line."""
        path = function.place.path
        span = head_span(self._read(path)[1], _line(function))
        return (
            function
            if span is None
            else self._spanned(path, function.place.function, span)
        )

    def input_of(self, function: QuotedPlace, name: str) -> QuotedPlace | None:
        """Where a parameter is written of the function whose first line this is."""
        path = function.place.path
        span = input_span(self._read(path)[1], _line(function), name)
        return (
            None if span is None else self._spanned(path, function.place.function, span)
        )

    def expression_at(
        self, path: str, line: int, function: str, expression: str
    ) -> QuotedPlace:
        """An expression on a line, from one; the whole line where it is not found there."""
        span = expression_span(self._read(path)[1], line, expression)
        if span is None:
            return self.quoted(path, line, function)
        return self._spanned(path, function, span)

    def _spanned(self, path: str, function: str, span: Span) -> QuotedPlace:
        digest, lines = self._read(path)
        text = lines[span.start.line][:_LONGEST]
        return QuotedPlace(Place(path, function, span), text, digest)


def _line(place: QuotedPlace) -> int:
    return place.place.span.start.line + 1


def _span(columns: Columns, lines: tuple[str, ...]) -> Span | None:
    """The span of columns in a file; None where it is not sure."""
    at = columns.line - 1
    end = at if columns.end_line is None else columns.end_line - 1
    if not at <= end < len(lines):
        return None
    start = _points(lines[at], columns.column)
    stop = _points(lines[end], columns.end_column)
    if columns.end_line is None:
        # A part of a line that is an expression is the whole of it.
        try:
            ast.parse(lines[at][start:stop], mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return Span.of(at, start, end, stop)


def _points(line: str, column: int) -> int:
    """How many code points the first bytes of a line are."""
    return len(line.encode()[: max(0, column)].decode(errors="ignore"))


def _read(path: str) -> tuple[str, tuple[str, ...]]:
    """The digest and the lines of a source."""
    return _others.get(path) or _read_once(path)


@lru_cache(64)
def _read_once(path: str) -> tuple[str, tuple[str, ...]]:
    """As it was when it was first asked for."""
    if path.startswith("<"):
        return "", ()
    try:
        content = regular_file.read(path, regular_file.SOURCE_BYTES)
    except (OSError, ValueError):
        return "", ()
    return _digest_and_lines(content)


def _digest_and_lines(content: bytes) -> tuple[str, tuple[str, ...]]:
    lines = content.decode("utf-8", "replace").split("\n")
    return source_digest(content), tuple(line.removesuffix("\r") for line in lines)


def _unread(_path: str) -> tuple[str, tuple[str, ...]]:
    return "", ()


_others: dict[str, tuple[str, tuple[str, ...]]] = {}
"""Files that are quoted as if they held something else, with what that is."""
