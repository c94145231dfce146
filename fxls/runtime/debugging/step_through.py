"""Frames that a step does not end in, because they only lead to generated code.

What torch.compile runs in place of a function has the function's name and lines; a line
of it that calls a graph does nothing else.
"""

from __future__ import annotations

import dis
import functools
import inspect
from types import CodeType, FrameType

from fxls.runtime.listings.sections import DRIVER
from fxls.runtime.torch_private import is_compiled, is_compiling

__all__ = ["has_more_lines", "leads_on"]


def leads_on(frame: FrameType, *, is_back: bool = False) -> bool:
    """Whether the line that a frame is on only leads to generated code.

    With `is_back` it has done so, and the frame is to go on.
    """
    code = frame.f_code
    if code.co_filename.startswith(DRIVER):
        return True
    if _is_of_body(frame):
        return is_compiling()  # the body of a module or class: of what inductor wrote
    if not is_compiled(code):
        return False
    # The rest of a function, behind what no graph can hold, is a function of its own,
    # called on the line before.
    calls = ("__compiled_fn", "__resume_at") if is_back else ("__compiled_fn",)
    return frame.f_lineno in _calling(code, calls)


def _is_of_body(frame: FrameType) -> bool:
    """Whether a frame is the body of a module or class, or what this calls of its own."""
    at: FrameType | None = frame
    while at is not None and at.f_code.co_filename == frame.f_code.co_filename:
        if not at.f_code.co_flags & inspect.CO_OPTIMIZED:
            return True
        at = at.f_back
    return False


def has_more_lines(frame: FrameType) -> bool:
    """Whether other lines stand behind the one that a frame is on."""
    rows = dis.findlinestarts(frame.f_code)
    behind = {line for offset, line in rows if offset > frame.f_lasti}
    return bool(behind - {frame.f_lineno, None})


@functools.lru_cache(256)
def _calling(code: CodeType, names: tuple[str, ...]) -> frozenset[int]:
    """The lines of torch.compile's code that name what begins so."""
    found: set[int] = set()
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno if instruction.positions else line
        if str(instruction.argval).startswith(names) and line is not None:
            found.add(line)
    return frozenset(found)
