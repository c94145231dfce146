"""What debugpy says of variables and expressions goes through somebody who knows more.

Raises what `fxls.runtime.debugging.pydevd.logging_unknown` catches where this debugpy is another one.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from fxls.attempt import Raised
from fxls.runtime.patches import Patches
from fxls.tensor_view import INLINE

__all__ = ["View", "evaluate_more", "say_more"]


class View(Protocol):
    """Says more of the variables of a frame than their values do; never raises."""

    def shown(self, frame: FrameType, name: str, value: object, text: str) -> str:
        """The text of a variable's value."""
        ...

    def rank(self, frame: FrameType, name: str, value: object) -> int:
        """Where a variable is shown: lower ones first, those that are equal by name."""
        ...

    def instead(
        self, frame: FrameType, expression: str, result: object
    ) -> object | Raised:
        """What to answer an expression whose result, or error, this is."""
        ...


def say_more(view: View, patches: Patches) -> None:
    """Let what pydevd says of a variable go through a view."""
    frames: Any = importlib.import_module("_pydevd_bundle.pydevd_suspended_frames")
    variable: Any = frames._ObjectVariable
    own: Callable[..., dict[str, Any]] = variable.get_var_data

    @functools.wraps(own)
    def get_var_data(self: Any, *args: Any, **more: Any) -> dict[str, Any]:
        # debugpy 1.6 knows of no context, so what was given is passed on as it is.
        shown = own(self, *args, **more)
        context = more.get("context", args[1] if len(args) > 1 else None)
        name = self.name
        # A part of a value has another name than the expression that it is evaluated by.
        frame = getattr(self, "frame", None)
        if frame is not None and name == self.evaluate_name and context not in _RAW:
            shown["value"] = view.shown(frame, name, self.value, shown["value"])
        return shown

    patches.put(variable, "get_var_data", get_var_data)
    scope: Any = frames._FrameVariable
    children: Callable[..., list[Any]] = scope.get_children_variables

    @functools.wraps(children)
    def get_children_variables(self: Any, *args: Any, **more: Any) -> list[Any]:
        found = children(self, *args, **more)
        return sorted(found, key=lambda v: view.rank(self.frame, v.name, v.value))

    patches.put(scope, "get_children_variables", get_children_variables)


_RAW = ("repl", "clipboard", INLINE)
"""Where a person asks for the value itself, or a line has room for that alone."""


def evaluate_more(view: View, patches: Patches) -> None:
    """Let what pydevd answers to an expression go through a view."""
    variables: Any = importlib.import_module("_pydevd_bundle.pydevd_vars")
    own: Callable[..., Any] = variables.evaluate_expression
    failed: Any = variables.ExceptionOnEvaluate

    @functools.wraps(own)
    def evaluate_expression(
        pydb: Any,
        frame: Any,
        expression: str,
        is_exec: bool,  # noqa: FBT001 - pydevd's
    ) -> Any:
        result = own(pydb, frame, expression, is_exec)
        if is_exec or frame is None:
            return result
        if type(result) is not failed:
            return view.instead(frame, expression, result)
        before = Raised(result.result)
        answer = view.instead(frame, expression, before)
        if isinstance(answer, Raised):
            error = answer.error
            return result if answer is before else failed(error, type(error), result.tb)
        return answer

    patches.put(variables, "evaluate_expression", evaluate_expression)
