"""Where in the user's code something happened, from frames and tracebacks."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import TypeVar

import fxls
from fxls.listing import Place
from fxls.text import Span

__all__ = ["Territory", "ended_in", "shortened", "syntax_place"]

_Row = TypeVar("_Row")

_INSTALLED = {"site-packages", "dist-packages"}

_DEPTH = 16
"""How many places are kept at either end of a deep stack."""


class Territory:
    """Which files hold the user's code.

    Everything but the standard library, installed packages, torch and fxls; the file
    that is being traced always does.
    """

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._libraries = tuple(_libraries())
        self._known: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._holds(path)
        return known

    def places(self, error: BaseException) -> tuple[Place, ...]:
        """Where in the user's code an error was raised, innermost first.

        Those of its cause, when it was raised by code of somebody else.
        """
        seen: set[int] = set()
        current: BaseException | None = error
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            places = self._innermost_first(_raised_in(current.__traceback__))
            if places:
                return places
            current = current.__cause__ or current.__context__
        return ()

    def places_of_frame(self, frame: FrameType | None) -> tuple[Place, ...]:
        """Where in the user's code a running frame is, innermost first."""
        outermost_first = reversed(list(_running_in(frame)))
        return self._innermost_first(outermost_first)

    def _innermost_first(
        self, instructions: Iterable[tuple[CodeType, int]]
    ) -> tuple[Place, ...]:
        users = [
            (code, offset)
            for code, offset in instructions
            if self.holds(code.co_filename)
        ]
        users.reverse()
        return tuple(_place(code, offset) for code, offset in shortened(users))

    def _holds(self, path: str) -> bool:
        if path == self.path:
            return True
        file = Path(path)
        if not file.is_absolute() or _INSTALLED & set(file.parts):
            return False
        return not path.startswith(self._libraries)


def shortened(rows: list[_Row]) -> tuple[_Row, ...]:
    """The rows without the middle of a very deep stack."""
    if len(rows) <= 2 * _DEPTH:
        return tuple(rows)
    return (*rows[:_DEPTH], *rows[-_DEPTH:])


def ended_in(error: BaseException) -> str:
    """The path of the file whose code raised an error; empty when none did."""
    path = ""
    for code, _ in _raised_in(error.__traceback__):
        path = code.co_filename
    return path


def syntax_place(error: SyntaxError) -> Place | None:
    """Where Python's parser gave up; None when it did not say."""
    if error.filename is None or error.lineno is None:
        return None
    line = error.lineno - 1
    start = max((error.offset or 1) - 1, 0)
    end_line = (error.end_lineno or error.lineno) - 1
    end = (error.end_offset or 0) - 1
    if end_line < line or (end_line == line and end <= start):
        end_line, end = line, start + 1
    return Place(error.filename, "<module>", Span.of(line, start, end_line, end))


def _libraries() -> Iterator[str]:
    paths = sysconfig.get_paths()
    for key in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield str(Path(paths[key])) + os.sep
    yield str(Path(fxls.__file__).parent) + os.sep
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__ is not None:
        yield str(Path(torch.__file__).parent) + os.sep


def _raised_in(traceback: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    while traceback is not None:
        yield traceback.tb_frame.f_code, traceback.tb_lasti
        traceback = traceback.tb_next


def _running_in(frame: FrameType | None) -> Iterator[tuple[CodeType, int]]:
    while frame is not None:
        yield frame.f_code, frame.f_lasti
        frame = frame.f_back


def _place(code: CodeType, offset: int) -> Place:
    line, end_line, column, end_column = next(
        islice(code.co_positions(), offset // 2, None), (None, None, None, None)
    )
    if line is None:
        line = code.co_firstlineno
    if end_line is None or column is None or end_column is None:
        text = linecache.getline(code.co_filename, line)
        column = len(text) - len(text.lstrip())
        span = Span.of(line - 1, column, line - 1, max(len(text.rstrip()), column))
    else:
        span = Span.of(
            line - 1,
            _code_points(code.co_filename, line, column),
            end_line - 1,
            _code_points(code.co_filename, end_line, end_column),
        )
    return Place(code.co_filename, code.co_qualname, span)


def _code_points(path: str, line: int, column: int) -> int:
    """The column, in code points, of a column that Python counts in bytes."""
    text = linecache.getline(path, line)
    if text.isascii():
        return column
    return len(text.encode()[:column].decode(errors="replace"))
