"""The stacks of pdb, and of what else is made of `bdb`, end where the program begins."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FrameType, TracebackType

__all__ = ["end_at"]


def end_at(below: Sequence[CodeType]) -> None:
    """Neither show the frames of this code, which called the program, nor stop in them.

    The code is given from the innermost frame on.
    """
    try:
        from bdb import Bdb  # noqa: PLC0415 - the program may have its own module

        whole, stops = Bdb.get_stack, Bdb.stop_here
    except (ImportError, AttributeError):
        return
    codes, border = frozenset(below), below[0]

    def get_stack(
        self: Bdb, f: FrameType | None, t: TracebackType | None
    ) -> tuple[list[tuple[FrameType, int]], int]:
        stack, at = whole(self, f, t)
        borders = [n for n, (one, _) in enumerate(stack) if one.f_code is border]
        begin = borders[-1] + 1 if borders else 0
        return (stack[begin:], at - begin) if begin <= at else (stack, at)

    def stop_here(self: Bdb, frame: FrameType) -> bool:
        if frame.f_code in codes and not _is_called_by(border, frame):
            return False
        return stops(self, frame)

    Bdb.get_stack, Bdb.stop_here = get_stack, stop_here


def _is_called_by(code: CodeType, frame: FrameType) -> bool:
    """Whether a frame is of the program: `runpy` may be below it as well as in it."""
    outer = frame.f_back
    while outer is not None and outer.f_code is not code:
        outer = outer.f_back
    return outer is not None
