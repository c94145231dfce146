"""Python's parser, without its warnings of what the user's text has."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

__all__ = ["parsed", "parsed_expression"]


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a file; None when Python cannot read it."""
    try:
        with _quiet():
            return _tree(text)
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


def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SystemError:
        # A thread that parses an expression elsewhere does so without the lock.
        return ast.parse(text)


_one_at_a_time = Lock()
"""Python 3.11 counts how deep a tree is for the whole process, and raises SystemError
where two threads make one; and the filters of warnings are those of the process."""


@contextmanager
def _quiet() -> Generator[None]:
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
