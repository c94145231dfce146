"""Conditions of breakpoints in listings: what cannot be judged is said, and stops once.

debugpy alone lets a tensor of several elements end the program, because Python cannot
say whether it is true, and takes a name that does not exist for a no without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FrameType

from fxls.attempt import Raised, attempt
from fxls.runtime.debugging.frame_view import FrameView, Freed, FreedValue
from fxls.runtime.debugging.pydevd import Judge

__all__ = ["judge"]


def judge(
    owns: Callable[[Path], bool], say: Callable[[str], None], view: FrameView
) -> Judge:
    """The judge of one session, which speaks through `say`.

    In a listing, a condition means what `view` answers to it as an expression.

    `owns` tells whether a file is a listing. In another file a name that does not exist
    is a no without a word, as people know it from debugpy.
    """
    said: set[tuple[str, int, str]] = set()

    def holds(condition: str, frame: FrameType) -> bool:
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
        if (path, line, condition) in said:
            return False
        said.add((path, line, condition))
        say(_message(condition, result.error, frame))
        return True

    return holds


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
