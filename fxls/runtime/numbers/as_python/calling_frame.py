"""The Python function that calls a captured graph, as it was before Dynamo changed it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from fxls.runtime.producers.compiled_calls import original_of

__all__ = ["PythonCall", "python_call"]

_RESUMES = ("__resume_at_", "torch_dynamo_resume_in_")
"""How the names begin of the functions that go on behind a graph break."""
_NOT_CALLED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call of the user's function, as Python would do it."""

    code: CodeType
    call: Callable[[], Any]
    is_whole: bool
    """Whether the captured graph is all that the function does with tensors: it has no
    graph break."""


def python_call(frame: FrameType | None) -> PythonCall | None:
    """The call that comes to a captured graph in this frame, or in one around it; None
    where its arguments are not known any more, or where calling it runs nothing.
    """
    while frame is not None:
        code = original_of(frame.f_code)
        if code is not None:
            return _call_of(frame, code)
        frame = frame.f_back
    return None


def _call_of(frame: FrameType, code: CodeType) -> PythonCall | None:
    known = frame.f_locals
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    rest = iter(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    more = next(rest) if code.co_flags & inspect.CO_VARARGS else None
    named = next(rest) if code.co_flags & inspect.CO_VARKEYWORDS else None
    wanted = (*positional, *keywords, *(one for one in (more, named) if one))
    is_known = all(name in known for name in (*wanted, *code.co_freevars))
    if not is_known or code.co_flags & _NOT_CALLED:
        return None
    cells = tuple(CellType(known[name]) for name in code.co_freevars)
    function = FunctionType(code, frame.f_globals, code.co_name, None, cells)
    args = [*(known[name] for name in positional), *(known[more] if more else ())]
    given: Mapping[str, Any] = known[named] if named else {}
    kwargs = {**{name: known[name] for name in keywords}, **given}
    names = (*frame.f_code.co_names, *frame.f_code.co_varnames)
    is_whole = not any(name.startswith(_RESUMES) for name in names)
    return PythonCall(code, lambda: function(*args, **kwargs), is_whole)
