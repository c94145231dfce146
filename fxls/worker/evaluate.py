"""Evaluating an entry: the model, and the example inputs it is called with."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import torch

import fxls
from fxls.entry import Entry
from fxls.listing import Failure, Place, Reason
from fxls.text import LineTable, Point, Span
from fxls.worker.places import syntax_place

__all__ = ["Inputs", "Model", "Refused", "evaluate", "inputs_of", "names_in"]


class Refused(Exception):
    """The entry is no model; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Inputs:
    """The arguments of a call."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Model:
    """What an entry stands for."""

    root: torch.nn.Module | Callable[..., object]
    inputs: Inputs | None
    """None when the entry calls nothing with inputs: shapes stay unknown."""


def evaluate(entry: Entry, module: ModuleType, text: str) -> Model:
    """The model of an entry, in the namespace of the module whose source is `text`.

    - A call of a module is that module with example inputs, a call of a function that
      returns a module is that module, any other call of a function is that function
      with example inputs.
    - A class stands for its call without arguments.

    Raises `Refused`, and whatever the expression raises.
    """
    expression = _Expression(entry, module, text)
    outermost = expression.tree.body
    if isinstance(outermost, ast.Call):
        callee = expression.value(outermost.func)
        inputs = expression.arguments(outermost)
        if isinstance(callee, torch.nn.Module):
            return Model(callee, inputs)
        value = expression.call(callee, inputs)
        if _is_function(callee) and not isinstance(value, torch.nn.Module):
            return Model(cast(Callable[..., object], callee), inputs)
    else:
        value = expression.value(outermost)
    if _is_module_class(value):
        value = expression.call(value, Inputs((), {}))
    if isinstance(value, torch.nn.Module) or _is_function(value):
        return Model(cast(Callable[..., object], value), None)
    kind = type(value).__qualname__
    raise Refused(
        Failure(
            Reason.NOT_A_MODULE,
            f"`{entry.expression}` is a {kind}, not a torch.nn.Module",
            expression.place(),
            "Write an expression that builds a module, then call it with example "
            "inputs: `Net()(torch.randn(1, 3))`.",
        )
    )


def inputs_of(entry: Entry, module: ModuleType, text: str) -> Inputs | None:
    """The example inputs of an entry, whose model is not built; raises as `evaluate`."""
    expression = _Expression(entry, module, text)
    outermost = expression.tree.body
    return expression.arguments(outermost) if isinstance(outermost, ast.Call) else None


def names_in(module: ModuleType) -> dict[str, Any]:
    """What an entry of the module's file may use."""
    return {"torch": torch, "fxls": fxls, **vars(module)}


class _Expression:
    """The parsed entry; every position in it leads to where the entry stands."""

    def __init__(self, entry: Entry, module: ModuleType, text: str) -> None:
        self._entry = entry
        self._lines = LineTable(text)
        self._filename = "<entry>" if entry.span is None else entry.path
        self._names = names_in(module)
        try:
            self.tree = ast.parse(entry.expression, mode="eval")
        except SyntaxError as error:
            raise Refused(self._syntax_failure(error)) from error
        self._relocate()

    def place(self) -> tuple[Place, ...]:
        if self._entry.span is None:
            return ()
        return (Place(self._entry.path, "<module>", self._entry.span),)

    def value(self, node: ast.expr) -> object:
        code = compile(ast.Expression(node), self._filename, "eval", dont_inherit=True)
        return eval(code, self._names)

    def arguments(self, call: ast.Call) -> Inputs:
        """The arguments of a call that is not made."""
        self._names["__fxls_inputs__"] = _inputs
        func = ast.copy_location(ast.Name("__fxls_inputs__", ast.Load()), call.func)
        node = ast.copy_location(ast.Call(func, call.args, call.keywords), call)
        return cast(Inputs, self.value(node))

    def call(self, callee: object, inputs: Inputs) -> object:
        """Call a value from the place of the entry, which tracebacks then show."""
        self._names["__fxls_callee__"] = callee
        self._names["__fxls_inputs__"] = inputs
        code = "__fxls_callee__(*__fxls_inputs__.args, **__fxls_inputs__.kwargs)"
        call = ast.parse(code, mode="eval").body
        for node in ast.walk(call):
            ast.copy_location(node, self.tree.body)
        return self.value(call)

    def _relocate(self) -> None:
        span = self._entry.span
        if span is None:
            return
        literal = self._lines.slice(span) == self._entry.expression
        start = self._byte_column(span.start)
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.expr | ast.keyword):
                continue
            if literal:
                if node.lineno == 1:
                    node.col_offset += start
                if node.end_lineno == 1 and node.end_col_offset is not None:
                    node.end_col_offset += start
            else:
                node.lineno, node.end_lineno = 1, span.end.line - span.start.line + 1
                node.col_offset = start
                node.end_col_offset = self._byte_column(span.end)
        ast.increment_lineno(self.tree, span.start.line)

    def _byte_column(self, point: Point) -> int:
        return len(self._lines.line(point.line)[: point.column].encode())

    def _syntax_failure(self, error: SyntaxError) -> Failure:
        places = self.place()
        span = self._entry.span
        within = syntax_place(error)
        if (
            span is not None
            and within is not None
            and within.span.start.line == within.span.end.line == 0
            and self._lines.slice(span) == self._entry.expression
        ):
            line, column = span.start.line, span.start.column
            start = min(column + within.span.start.column, span.end.column)
            end = min(column + within.span.end.column, span.end.column)
            exact = Span.of(line, start, line, max(end, start))
            places = (Place(self._entry.path, "<module>", exact),)
        return Failure(
            Reason.ENTRY,
            f"`{self._entry.expression}` is not an expression: {error.msg}",
            places,
            "An entry builds a module and calls it with example inputs: "
            "`Net(3)(torch.randn(1, 3))`.",
        )


def _inputs(*args: object, **kwargs: object) -> Inputs:
    return Inputs(args, kwargs)


def _is_module_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, torch.nn.Module)


def _is_function(value: object) -> bool:
    # Builtin functions have no code to trace.
    return inspect.isfunction(value) or inspect.ismethod(value)
