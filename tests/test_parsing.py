"""Parsing in a thread beside the program's."""

from __future__ import annotations

import ast
import gc
import threading
import weakref

import pytest

from fxls.parsing import parse


def test_a_tree_that_the_program_is_making_stays_whole() -> None:
    """On CPython 3.11, `ast.parse` in the other thread makes this one a SystemError."""
    source = "x = f(a, b)\n" * 5_000
    begun, made = threading.Event(), threading.Event()

    def elsewhere() -> None:
        assert begun.wait(300)
        assert ast.dump(parse("y", "eval")) == ast.dump(ast.parse("y", mode="eval"))
        made.set()

    def amid(_phase: str, _about: dict[str, int]) -> None:
        if threading.current_thread() is threading.main_thread() and not begun.is_set():
            begun.set()
            # A call that waits for the program's tree is not done by then.
            made.wait(0.5)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    gc.callbacks.append(amid)
    try:
        tree = ast.parse(source)
    finally:
        gc.callbacks.remove(amid)
    assert begun.is_set(), "no garbage was collected amid the tree"
    thread.join()
    assert made.is_set()
    assert len(tree.body) == 5_000


def test_what_does_not_parse_is_refused_as_ever() -> None:
    with pytest.raises(SyntaxError):
        parse("x =")


def test_a_tree_goes_when_nobody_has_it_any_more() -> None:
    """Not only when the garbage collector comes, to which a source in pieces is a lot."""

    def read() -> weakref.ref[ast.AST]:
        tree = parse("x")
        return weakref.ref(tree)

    gc.disable()
    try:
        found = read()
        assert found() is None
    finally:
        gc.enable()
