"""Conditions of breakpoints in listings: what cannot be judged is said, and stops once.

debugpy alone lets a tensor of several elements end the program, because Python cannot
say whether it is true, and takes a name that does not exist for a no without a word.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from fxls.attempt import Raised, attempt
from fxls.runtime.debugging.frame_view import FrameView, Freed, FreedValue
from fxls.runtime.debugging.pydevd import Judge, Log

__all__ = ["judge", "log"]


def judge(
    owns: Callable[[Path], bool], say: Callable[[str], None], view: FrameView
) -> Judge:
    """The judge of one session, which speaks through `say`.

    In a listing, a condition means what `view` answers to it as an expression.

    `owns` tells whether a file is a listing. In another file a name that does not exist
    is a no without a word, as people know it from debugpy.
    """
    said: set[tuple[str, int, str]] = set()

    def holds(condition: str, frame: FrameType, as_written: str = "") -> bool:
        path, line = frame.f_code.co_filename, frame.f_lineno
        value = attempt(lambda: eval(condition, frame.f_globals, frame.f_locals))
        if (value is None or isinstance(value, Raised)) and owns(Path(path)):
            value = view.instead(frame, condition, value)
        if isinstance(value, Freed):
            value = Raised(FreedValue(f"{value.name} was {value!r}"))
        result = value if isinstance(value, Raised) else attempt(lambda: bool(value))
        if not isinstance(result, Raised):
            return result
        if isinstance(result.error, NameError) and not owns(Path(path)):
            return False
        as_written = as_written or condition
        if (path, line, as_written) in said:
            return False
        said.add((path, line, as_written))
        say(_message(as_written, result.error, frame))
        return True

    return holds


def log(owns: Callable[[Path], bool], view: FrameView) -> Log:
    """What log points say in listings: each value is what `view` answers."""

    def said(expression: str, frame: FrameType) -> str | None:
        if not owns(Path(frame.f_code.co_filename)):
            return None
        return _filled_in(view, expression, frame)

    return said


def _filled_in(view: FrameView, expression: str, frame: FrameType) -> str | None:
    """None where it is not as debugpy writes it: a text, ``%`` and a tuple."""
    tree = attempt(lambda: ast.parse(expression.strip(), mode="eval").body)
    match tree:
        case ast.BinOp(ast.Constant(str(text)), ast.Mod(), ast.Tuple(parts)):
            pass
        case _:
            return None
    values: list[object] = []
    for part in map(ast.unparse, parts):
        value = attempt(lambda part=part: eval(part, frame.f_globals, frame.f_locals))
        if value is None or isinstance(value, Raised):
            value = view.instead(frame, part, value)
        if isinstance(value, Raised):
            return str(value.error)
        values.append(repr(value) if isinstance(value, Freed) else value)
    said = attempt(lambda: text % tuple(values))
    return str(said.error) if isinstance(said, Raised) else said


def _message(condition: str, error: Exception, frame: FrameType) -> str:
    where = f"line {frame.f_lineno} of {Path(frame.f_code.co_filename).name}"
    lines = [
        f"stopped on {where}, because its condition cannot be judged: {condition}",
        f"  {type(error).__name__}: {error}",
    ]
    if isinstance(error, (RuntimeError, ValueError)) and "ambiguous" in str(error):
        lines.append(f"  Say which is meant: ({condition}).any() or .all()")
    if isinstance(error, NameError):
        lines.append(
            "  Names are those of the nodes that the listing has bound so far."
        )
    lines.append("  It will not stop here for this reason again.")
    return "\n".join(lines)
