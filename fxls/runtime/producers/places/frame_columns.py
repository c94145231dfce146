"""Where torch.compile notes lines alone, as torch 2.11 and 2.12 do, columns as well."""

from __future__ import annotations

from collections.abc import Generator
from traceback import FrameSummary
from typing import Any

from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around

__all__ = ["hooks"]


def hooks() -> tuple[Hook, ...]:
    """Where Dynamo says which frame of the source it follows."""
    name = "InstructionTranslatorBase.frame_summary"
    return (Hook("torch._dynamo.symbolic_convert", _LINES, {name: _with_columns}),)


def _with_columns(original: Any) -> Any:
    """Theirs where it knows columns; else theirs with those of the instruction."""
    if "colno" in original.__code__.co_consts:
        return original
    return around(_noting, _LINES)(original)


def _noting(translator: Any, /) -> Generator[None, Any, Any]:
    frame = yield
    with logging_faults(_LINES):
        at = translator.current_instruction.positions
        if at is not None:
            return FrameSummary(
                *(frame.filename, frame.lineno, frame.name),
                lookup_line=False,
                colno=at.col_offset,
                end_colno=at.end_col_offset,
            )
    return frame


_LINES = "what torch.compile captures has lines without columns"
