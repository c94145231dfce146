"""Python's parser, without its warnings of what the user's text has."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from fxls.parsing import parse

__all__ = ["parsed", "parsed_expression"]


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a file; None when Python cannot read it."""
    try:
        with _quiet():
            return parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def parsed_expression(source: str) -> ast.expr | SyntaxError:
    """The syntax tree of an expression, or why Python cannot read it."""
    try:
        with _quiet():
            return parse(source, "eval").body
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or "too deeply nested")


_one_at_a_time = Lock()
"""The filters of warnings are those of the process."""


@contextmanager
def _quiet() -> Generator[None]:
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
