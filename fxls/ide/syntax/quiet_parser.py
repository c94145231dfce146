"""Python's parser, without its warnings of what the user's text has."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from threading import Lock

__all__ = ["parsed", "parsed_expression"]


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a file; None when Python cannot read it."""
    try:
        with _quiet():
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def parsed_expression(source: str) -> ast.expr | SyntaxError:
    """The syntax tree of an expression, or why Python cannot read it."""
    try:
        with _quiet():
            return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or "too deeply nested")


class _Threads:
    """How many threads parse, and what puts the warnings back behind the last of them.

    Python's filters are those of the process: a thread that put them back by itself
    would do so in the middle of what another one parses.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.filters = ExitStack()


_threads = _Threads()


@contextmanager
def _quiet() -> Generator[None]:
    with _threads.lock:
        if not _threads.count:
            _threads.filters.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        _threads.count += 1
    try:
        yield
    finally:
        with _threads.lock:
            _threads.count -= 1
            if not _threads.count:
                _threads.filters.close()
