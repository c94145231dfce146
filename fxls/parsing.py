"""Python's parser, where another thread may be in it too."""

from __future__ import annotations

import ast
import sys
import threading
import time
from types import FrameType
from typing import Literal, overload

__all__ = ["parse"]


@overload
def parse(source: str | bytes) -> ast.Module: ...
@overload
def parse(source: str, mode: Literal["eval"]) -> ast.Expression: ...


def parse(source: str | bytes, mode: str = "exec") -> ast.AST:
    """What `ast.parse` gives, at no other thread's cost.

    CPython 3.11 counts the depth of the trees that it makes in one place for all
    threads. One that waits amid its tree, for a garbage collection that runs Python,
    ends with a SystemError where another one made a tree meanwhile. The program's
    threads know nothing of the ones of fxls, so these wait for them; should one come
    later, it is this call that is repeated, because no two threads collect at once.

    Raises:
        SyntaxError, ValueError: as `ast.parse` does.
    """
    if sys.version_info >= (3, 12):
        return ast.parse(source, mode=mode)
    end, pause = time.monotonic() + _PATIENCE, _FIRST_PAUSE
    while _is_under_way() and time.monotonic() < end:
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    for _ in range(_AGAIN):
        try:
            return ast.parse(source, mode=mode)
        except SystemError:
            continue
    return ast.parse(source, mode=mode)


_PATIENCE = 60.0
"""Seconds; far more than any tree takes, so that a thread stuck in one holds up nobody.

On a busy machine a tree of 5,000 lines took more than five.
"""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""Seconds; each look takes the lock of the interpreter from the thread that is waited for."""
_AGAIN = 3


def _is_under_way() -> bool:
    """Whether another thread is in `ast.parse`."""
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]  # the one way to them
    # This one would hold itself, and with its callers the trees that they have: only the
    # garbage collector would free them, in nearly the time that parsing takes.
    frames.pop(threading.get_ident(), None)
    for frame in frames.values():
        at: FrameType | None = frame
        while at is not None:
            if at.f_code is ast.parse.__code__:
                return True
            at = at.f_back
    return False
