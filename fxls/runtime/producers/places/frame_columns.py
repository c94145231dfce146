"""Where torch.compile notes lines alone, as torch 2.11 and 2.12 do, columns as well.

From Python 3.13 on a trace has no place of an expression of several lines, unless the
line is known in which it ends, which no torch notes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Generator
from traceback import FrameSummary
from typing import Any

from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around

__all__ = ["hooks"]


def hooks() -> tuple[Hook, ...]:
    """Where Dynamo says which frame of the source it follows, and where an error has the
    innermost one of them.
    """
    return (
        Hook(
            _FOLLOWING,
            _LINES,
            {
                "InstructionTranslatorBase.frame_summary": _unless_known(
                    "colno", _noting, _LINES
                )
            },
        ),
        Hook(
            "torch._guards",
            _ERRORS,
            {
                "TracingContext._populate_loc_in_frame_summary": _unless_known(
                    "loc_in_frame_positions", _noting_innermost, _ERRORS
                )
            },
        ),
    )


def _unless_known(name: str, noting: Any, what_fails: str) -> Any:
    """What leaves a function of theirs as it is when it uses this name, and Python needs
    no more.
    """

    def replacement(original: Any) -> Any:
        code = original.__code__
        if not _NEEDS_ENDS and name in (*code.co_consts, *code.co_names):
            return original
        return around(noting, what_fails)(original)

    return replacement


def _noting(translator: Any, /) -> Generator[None, Any, Any]:
    frame = yield
    with logging_faults(_LINES):
        return _with_columns(frame, translator)
    return frame


def _noting_innermost(_context: Any, /) -> Generator[None, Any, Any]:
    frame = yield
    with logging_faults(_ERRORS):
        following = sys.modules[_FOLLOWING].__file__
        at: Any = inspect.currentframe()  # Dynamo is further out
        while at is not None:
            if at.f_code.co_filename == following:
                translator = at.f_locals.get("self")
                code = getattr(translator, "f_code", None)
                if code is not None and code.co_filename == frame.filename:
                    return _with_columns(frame, translator)
            at = at.f_back
    return frame


def _with_columns(frame: FrameSummary, translator: Any) -> FrameSummary:
    """The frame, with the columns of the instruction that is followed."""
    at = translator.current_instruction.positions
    if at is None or at.lineno != frame.lineno:
        return frame
    return FrameSummary(
        *(frame.filename, frame.lineno, frame.name),
        lookup_line=False,
        end_lineno=at.end_lineno if _NEEDS_ENDS else None,
        colno=at.col_offset,
        end_colno=at.end_col_offset,
    )


_NEEDS_ENDS = sys.version_info >= (3, 13)
_FOLLOWING = "torch._dynamo.symbolic_convert"
_LINES = "what torch.compile captures has lines without columns"
_ERRORS = "errors of torch.compile have lines without columns"
