"""Taking the origin of what a frame is doing, cheaply, while a program is traced.

Source is everything but torch, this package and the standard library.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Sequence
from inspect import CO_GENERATOR
from pathlib import Path
from types import CodeType, FrameType, TracebackType

import torch

from fxls.engine.origins.resolve import RETURN, OriginSlots, RawOrigin

__all__ = [
    "FrameOrigins",
    "innermost",
    "is_engine",
    "is_source",
    "is_source_file",
    "of_traceback",
    "source_frame",
]


class FrameOrigins:
    """Takes origins for one tracer: knows how far out a trace reaches.

    - `caller` is the origin of the module call that is running; None in the root. It is
      taken once, so that a node in a deep module walks its own frames only.
    - `function` is the source frame directly inside that call, once one was seen.
    """

    __slots__ = (
        "_boundaries",
        "_last",
        "_not_source",
        "_sourceless",
        "caller",
        "function",
    )

    def __init__(
        self, boundaries: Sequence[CodeType], not_source: frozenset[int] = frozenset()
    ) -> None:
        """`boundaries` are where the engine calls the traced code.

        The ids in `not_source` are those of code that is in a user's file and not of
        the model: the overrides of a tracer.
        """
        self._boundaries = frozenset(map(id, boundaries))
        self._not_source = not_source
        self._last: RawOrigin | None = None
        self._sourceless: FrameType | None = None
        """The frame from which no source was found the last time: that of a Sequential,
        which calls one module after the other."""
        self.caller: RawOrigin | None = None
        self.function: FrameType | None = None

    def here(self, frame: FrameType | None) -> RawOrigin | None:
        """The origin of what `frame` is doing at this moment."""
        function = self.function
        if frame is function and frame is not None:
            # The usual node, made directly in the function.
            return (frame.f_code, frame.f_lasti, self.caller)
        if frame is self._sourceless and frame is not None:
            return self.caller
        own: list[FrameType] = []
        start = frame
        while frame is not None:
            if frame is function:
                if not own:
                    return (frame.f_code, frame.f_lasti, self.caller)
                own.append(frame)
                break
            code = frame.f_code
            is_source = _is_source.get(code.co_filename)
            if is_source is None:
                is_source = _classify(frame)
            if not is_source:
                if id(code) in self._boundaries:
                    if own:
                        self.function = own[-1]
                    break
            elif id(code) not in self._not_source:
                own.append(frame)
            frame = frame.f_back
        # What is outside of a generator's frame is another one each time it goes on.
        if not own and start is not None and not start.f_code.co_flags & CO_GENERATOR:
            self._sourceless = start
        return self._linked(own)

    def note(self, node: OriginSlots, frame: FrameType) -> None:
        """Give a new node the origin of what `frame` is doing.

        The frame is the one that called the method that called the caller of this.
        """
        code = frame.f_code
        function = self.function
        if (
            function is not None
            and frame.f_back is function
            and _is_source.get(code.co_filename)
            and id(code) not in self._not_source
        ):
            # A comprehension, or what the function calls: a third of what `here` takes.
            node._origin = code
            node._offset = frame.f_lasti
            node._caller = self._link(function, self.caller)
        else:
            node._origin = self.here(sys._getframe(2))

    def returned(self) -> RawOrigin | None:
        """The origin of what the function gave, now that it has ended.

        None when the function was not seen. Callers keep no frame in a variable: an
        ended frame holds those outside of it, and so, in a cycle, all its own values.
        """
        frame = self.function
        if frame is None:
            return None
        return (frame.f_code, frame.f_lasti, self.caller, RETURN)

    def _linked(self, frames: list[FrameType]) -> RawOrigin | None:
        chain = self.caller
        if not frames:
            return chain
        for frame in frames[:0:-1]:
            chain = self._link(frame, chain)
        return (frames[0].f_code, frames[0].f_lasti, chain)

    def _link(self, frame: FrameType, chain: RawOrigin | None) -> RawOrigin:
        """What `frame` is doing, in front of `chain`; the same object as the last time."""
        code, offset = frame.f_code, frame.f_lasti
        last = self._last
        if (
            last is None
            or last[0] is not code
            or last[1] != offset
            or last[2] is not chain
        ):
            self._last = last = (code, offset, chain)
        return last


def innermost(frame: FrameType | None) -> RawOrigin | None:
    """The origin of what `frame` is doing, without the frames that called it."""
    frame = source_frame(frame)
    return None if frame is None else (frame.f_code, frame.f_lasti, None)


def is_source(code: CodeType) -> bool:
    """Whether code is of the source, by the file it is in."""
    return is_source_file(code.co_filename)


def is_engine(code: CodeType) -> bool:
    """Whether code is of this package."""
    return code.co_filename.startswith(_ENGINES[0])


def is_source_file(path: str) -> bool:
    """Whether code of this file, as code objects name it, is of the source."""
    if path.startswith(("<frozen ", *_ENGINES)):
        return False
    return _INSTALLED in path or not path.startswith(_STANDARD)


def source_frame(frame: FrameType | None) -> FrameType | None:
    """The first source frame, from `frame` outward."""
    while frame is not None and not _classify(frame):
        frame = frame.f_back
    return frame


def of_traceback(traceback: TracebackType | None) -> RawOrigin | None:
    """Where an exception was raised, as far out as its traceback reaches."""
    chain: RawOrigin | None = None
    while traceback is not None:
        if _classify(traceback.tb_frame):
            chain = (traceback.tb_frame.f_code, traceback.tb_lasti, chain)
        traceback = traceback.tb_next
    return chain


_is_source: dict[str, bool] = {}


def _classify(frame: FrameType) -> bool:
    """Whether a frame is of the source; decided once for each file."""
    filename = frame.f_code.co_filename
    known = _is_source.get(filename)
    if known is None:
        known = _is_source[filename] = is_source(frame.f_code)
        # Lets linecache ask the importer for the text, when it is in a zip file.
        linecache.lazycache(filename, frame.f_globals)
    return known


def _folder(path: Path) -> str:
    return f"{path}{os.sep}"


_INSTALLED = f"{os.sep}site-packages{os.sep}"
_ENGINES = (
    _folder(Path(__file__).parents[2]),
    _folder(Path(torch.__file__).parent),
)
_STANDARD = (_folder(Path(os.__file__).parent),)
