"""The name of a pass that nobody gave one: that of the function that is at work."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import torch

import fxls

__all__ = ["pass_here", "pass_that_raised"]

_MANAGER = "infra/pass_manager.py"
"""Where a function of torch's, or of ours, calls passes: by a local name each."""
_OURS = tuple(f"{Path(str(one.__file__)).parent}/" for one in (fxls, torch))
_UNKNOWN = "(unknown)"


def pass_here() -> str:
    """The pass that called who asks: the innermost function of the program's."""
    return next(_names(_outwards(inspect.currentframe())), _UNKNOWN)


def pass_that_raised(error: BaseException) -> str:
    """The pass that an error left; a manager of passes raises one of its own for it."""
    return next(_names(reversed([*_frames(error.__traceback__)])), _UNKNOWN)


def _names(frames: Iterable[FrameType]) -> Iterator[str]:
    for frame in frames:
        file = frame.f_code.co_filename.replace("\\", "/")
        if file.endswith(_MANAGER):
            local = frame.f_locals
            called: Any = local.get("fn", local.get("one"))
            if called is not None:
                yield getattr(called, "__name__", None) or type(called).__name__
        elif not file.startswith(_OURS) and not file.startswith("<"):
            yield frame.f_code.co_qualname.rpartition("<locals>.")[2]


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next
