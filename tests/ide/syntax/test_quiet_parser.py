"""The parser says nothing of the user's text, whatever the process does with warnings."""

from __future__ import annotations

import ast
import gc
import threading
import warnings

import pytest

from fxls.ide.syntax.quiet_parser import parsed, parsed_expression

ODD = "x = '\\d'\n" * 200


def test_an_odd_escape_is_no_error_where_warnings_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree, expression = parsed(ODD), parsed_expression("'\\d'")
        before = [*warnings.filters]
        with pytest.raises(SyntaxError):
            ast.parse(ODD)

    assert tree is not None
    assert isinstance(expression, ast.Constant)
    assert before[0][0] == "error"


def test_threads_that_parse_at_once_put_the_warnings_back_together() -> None:
    # Only a collection of garbage lets Python run amid a tree, and another thread with it.
    def amid(_phase: str, _about: dict[str, int]) -> None: ...

    there = threading.Barrier(8)
    found: list[bool] = []

    def parse() -> None:
        there.wait()
        found.extend(parsed(ODD) is not None for _ in range(50))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = [*warnings.filters]
        gc.callbacks.append(amid)
        threads = [threading.Thread(target=parse) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.callbacks.remove(amid)
        after = [*warnings.filters]

    assert found == [True] * 400
    assert after == before
