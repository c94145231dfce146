"""Whether an error of the traced program is due to a traced value, and what helps then.

C code refuses a value by its class, or finds that no signature fits, and its text need
not name the value. Where an error was raised, and what the expression there was given,
tells such an error from a mistake in the program, which stays as it was raised.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import re
from collections.abc import Iterable
from itertools import islice
from types import FunctionType, MethodType, TracebackType
from typing import Any, cast

import torch

from fxls.engine import errors
from fxls.engine.origins.from_frames import is_engine, is_source, of_traceback
from fxls.engine.origins.resolve import conditions_before, syntax_at
from fxls.engine.tracing.proxy import Proxy

__all__ = ["explained"]


def explained(error: Exception) -> Exception:
    """The error to raise for one that left a traced program.

    One that a traced value caused gets the place and the advice: its text begins with
    that of the original, and whoever catches the type of the original catches it.
    """
    traceback = error.__traceback__
    if (
        isinstance(error, errors.TraceError)
        or not isinstance(error, _REFUSALS)
        or traceback is None
    ):
        return error
    advice = _advice(error, _innermost(traceback))
    kind = None if advice is None else _class_like(type(error))
    if advice is None or kind is None:
        return error
    return kind(*error.args, frames=of_traceback(traceback), advice=advice)


_REFUSALS = (
    *(AssertionError, AttributeError, LookupError, RuntimeError, TypeError),
    ValueError,
)
"""What a function raises for a value. Others, as an OSError, tell of the world."""

_NAMED = re.compile(
    r"\b(Parameter)?Proxy\b|\bproxy\.Attribute\b|'Attribute'|\bnot Attribute\b"
)
"""The name of a traced value's class, in a text. `Attribute` is a word like others."""

_SIZES = "Give the sizes as one tuple, as in torch.ones((n, 2))."
_SLICE = "Take the part with torch.narrow(tensor, dimension, start, length)."


def _innermost(traceback: TracebackType) -> TracebackType:
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _advice(error: Exception, at: TracebackType) -> str | None:
    """What helps; empty when there is nothing in particular, None for others' errors."""
    code = at.tb_frame.f_code
    operation = _Operation(at)
    if _NAMED.search(str(error)) is not None:
        is_due = not (is_source(code) and operation.is_raise())
    elif is_engine(code) or _is_of_a_call(error):
        is_due = False
    elif operation.is_raise():
        is_due = not is_source(code) and operation.asked_for_a_traced_value()
    elif is_source(code):
        is_due = operation.was_given_a_traced_value()
    else:
        is_due = operation.holds_a_traced_value() and not operation.is_of_python()
    if not is_due:
        return None
    return operation.advice() if is_source(code) else ""


_OF_A_CALL = re.compile(r"\bunexpected keyword argument\b|\bmissing \d+ required\b")


def _is_of_a_call(error: Exception) -> bool:
    """Whether the arguments of a call are too few, or named wrongly: no value is why."""
    return isinstance(error, TypeError) and _OF_A_CALL.search(str(error)) is not None


class _Operation:
    """What a frame was doing when it raised: a call, a subscript, or something else."""

    def __init__(self, at: TracebackType) -> None:
        self._frame, self._at = at.tb_frame, at.tb_lasti

    @functools.cached_property
    def _node(self) -> ast.AST | None:
        return syntax_at(self._frame.f_code, self._at)

    def is_raise(self) -> bool:
        """Whether a statement raised, and no call or operator."""
        code = self._frame.f_code
        return dis.opname[code.co_code[self._at]] in ("RAISE_VARARGS", "RERAISE")

    def asked_for_a_traced_value(self) -> bool:
        """Whether the function asked anything of one before, and so came here."""
        return any(
            isinstance(part, ast.Name) and _holds_traced(self._value(part))
            for condition in conditions_before(self._frame.f_code, self._at)
            for part in ast.walk(condition)
        )

    def holds_a_traced_value(self) -> bool:
        """Whether a variable is one."""
        return any(map(_holds_traced, self._frame.f_locals.values()))

    def is_of_python(self) -> bool:
        """Whether a function of Python was called: it did not even begin."""
        node = self._node
        if not isinstance(node, ast.Call):
            return False
        called = self._value(node.func)
        return called is not _UNKNOWN and not _is_c(called)

    def was_given_a_traced_value(self) -> bool:
        """Whether something that is written in C was given one."""
        match self._node:
            case ast.Call(func=function, args=args, keywords=keywords):
                called = self._value(function)
                if called is print:  # takes any value: what failed is the file
                    return False
                given = [*args, *(keyword.value for keyword in keywords)]
                return _is_c(called) and any(map(self._traced, given))
            case ast.Subscript(value=whole, slice=part):
                return self._traced(part) and self._has_items(whole)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return isinstance(self._value(left), str | bytes) and self._traced(
                    right
                )
            case _:
                return False

    def advice(self) -> str:
        match self._node:
            case ast.Call(func=function, args=[ast.expr() as size, *_]) if _is_one_of(
                self._value(function), _OF_SIZES
            ) and self._traced(size):
                return _SIZES
            case ast.Subscript(value=whole, slice=part) if any(
                isinstance(one, ast.Slice) for one in ast.walk(part)
            ) and isinstance(self._value(whole), torch.Tensor):
                return _SLICE
            case _:
                return ""

    def _has_items(self, whole: ast.expr) -> bool:
        found = self._value(whole)
        return found is not _UNKNOWN and hasattr(type(found), "__getitem__")

    def _traced(self, node: ast.AST) -> bool:
        """Whether an expression gave a traced value, or something that holds one."""
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return any(map(self._traced, parts))
            case ast.Slice(lower=lower, upper=upper, step=step):
                return any(self._traced(n) for n in (lower, upper, step) if n)
            case ast.BinOp(left=left, right=right):
                return self._traced(left) or self._traced(right)
            case ast.UnaryOp(operand=inner) | ast.Starred(value=inner):
                return self._traced(inner)
            case ast.Call(func=function, args=args):
                return self._traced(function) or (
                    _is_torch(self._value(function)) and any(map(self._traced, args))
                )
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                return _holds_traced(self._value(node)) or self._traced(inner)
            case _:
                return _holds_traced(self._value(node))

    def _value(self, node: ast.AST) -> object:
        """The value of a name, or of attributes of one, as far as nothing has to run."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                for names in (self._frame.f_locals, self._frame.f_globals):
                    if name in names:
                        return names[name]
                return getattr(builtins, name, _UNKNOWN)
            case ast.Attribute(value=inner, attr=name):
                owner = self._value(inner)
                return _UNKNOWN if owner is _UNKNOWN else _attribute(owner, name)
            case _:
                return _UNKNOWN


_UNKNOWN = object()

_OF_SIZES = frozenset[Any](
    [
        *(torch.empty, torch.ones, torch.rand, torch.randn, torch.zeros),
        *(torch.Tensor.expand, torch.Tensor.permute, torch.Tensor.repeat),
    ]
)
"""What takes sizes one by one, and traced ones in a tuple only."""


def _attribute(owner: object, name: str) -> object:
    if isinstance(owner, torch.nn.Module):
        for kept in ("_parameters", "_buffers", "_modules"):
            found = owner.__dict__.get(kept, {})
            if name in found:
                return found[name]
    found = inspect.getattr_static(owner, name, _UNKNOWN)
    return found.__func__ if isinstance(found, staticmethod) else found  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # an object


def _is_c(function: object) -> bool:
    """Whether a call ends in C. One of Python's would have raised in a frame of its own,
    or was called with the wrong arguments, which is the program's mistake.
    """
    if function is _UNKNOWN or isinstance(function, FunctionType | MethodType | Proxy):
        return False
    if isinstance(function, type):
        written = (function.__init__, function.__new__)
    else:
        written = (getattr(type(function), "__call__", None),)  # noqa: B004 - its type's
    return not any(isinstance(one, FunctionType) for one in written)


def _is_torch(function: object) -> bool:
    name = getattr(function, "__name__", "")
    return function is not _UNKNOWN and getattr(torch, name, None) is function


def _is_one_of(function: object, functions: frozenset[Any]) -> bool:
    return any(function is one for one in functions)


def _holds_traced(value: Any, depth: int = 3) -> bool:
    """Whether a value is a traced one, or a plain container with one near its start."""
    if isinstance(value, Proxy):
        return True
    if depth == 0:
        return False
    held: Iterable[Any]
    if type(value) in (list, tuple):
        held = value
    elif type(value) is dict:
        held = cast("dict[Any, Any]", value).values()
    elif type(value) is slice:
        held = (value.start, value.stop, value.step)
    else:
        return False
    return any(_holds_traced(one, depth - 1) for one in islice(held, _MOST))


_MOST = 100


@functools.cache
def _class_like(kind: type[Exception]) -> type[errors.TraceError] | None:
    """A class of ours whose errors are of `kind` as well; None where Python has none."""
    if issubclass(errors.ValueNeededError, kind) and kind is not ValueError:
        return errors.ValueNeededError
    if issubclass(errors.RefusedValueError, kind):
        return errors.RefusedValueError
    try:
        return type("RefusedValueError", (errors.RefusedValueError, kind), {})
    except TypeError:  # kinds that are laid out differently in memory
        return None
