"""The name of a pass that nobody gave one: that of the function that is at work."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import torch
import typing_extensions

import fxls

__all__ = ["is_by_compiler", "pass_here", "pass_that_raised"]

_MANAGER = "infra/pass_manager.py"
"""Where a function of torch's, or of ours, calls passes: by a local name each."""
_OURS = tuple(f"{Path(str(one.__file__)).parent}/" for one in (fxls, torch))
_FX = (f"{_OURS[0]}engine/", _OURS[1])
_COMPILERS = tuple(
    f"{_OURS[1]}{name}/"
    for name in ("_dynamo", "_functorch", "_inductor", "_export", "export")
)
_DECORATES = tuple(
    str(one.__file__).replace("\\", "/") for one in (typing_extensions, contextlib)
)
"""Have functions around what is deprecated, as much of `torch.ao` is, and blocks."""
_MAKES_CODE = ("__init__", "graph", "recompile")
"""What compiles a graph of a graph module, and says nothing of why."""
_UNKNOWN = "(unknown)"


def pass_here() -> str:
    """The pass that called who asks: the innermost function of the program's, as `fuse`.

    A line that is in no function, or in one without a name, is named by what it calls of
    FX, as `replace_pattern`, or else by its place, as ``train.py:17``.
    """
    return next(_names(_outwards(inspect.currentframe())), _UNKNOWN)


def pass_that_raised(error: BaseException) -> str:
    """The pass that an error left; a manager of passes raises one of its own for it."""
    return next(_names(reversed([*_frames(error.__traceback__)])), _UNKNOWN)


def is_by_compiler() -> bool:
    """Whether a compiler of torch's calls who asks, and no function of the program's that
    the compiler has called.
    """
    files = (frame.f_code.co_filename for frame in _outwards(inspect.currentframe()))
    for file in (one.replace("\\", "/") for one in files):
        if file.startswith(_COMPILERS):
            return True
        if not file.startswith(("<", *_OURS)) and file not in _DECORATES:
            return False
    return False


def _names(frames: Iterable[FrameType]) -> Iterator[str]:
    called = ""
    for frame in frames:
        file = frame.f_code.co_filename.replace("\\", "/")
        name = frame.f_code.co_qualname.rpartition("<locals>.")[2]
        if file.endswith(_MANAGER):
            local = frame.f_locals
            given: Any = local.get("fn", local.get("one"))
            if given is not None:
                yield getattr(given, "__name__", None) or type(given).__name__
        elif file.startswith(_FX):
            # A function in another one decorates what is called.
            called = called if "<locals>" in frame.f_code.co_qualname else name
        elif not file.startswith(("<", *_OURS)) and file not in _DECORATES:
            if not name.startswith("<"):
                yield name
            elif called and called.rpartition(".")[2] not in _MAKES_CODE:
                yield called
            else:
                yield f"{Path(file).name}:{frame.f_lineno}"


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next
