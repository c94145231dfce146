"""The Python that inductor writes around its kernels, as Python's parser reads it.

It says where a kernel is defined and called, and where a buffer is named. What the
kernels compute does not stand there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from fxls.listing import Role

__all__ = ["Called", "Defined", "Named", "Spot", "Variable", "WrapperText", "read"]

_RUNS = re.compile(r"call|partition_\d+")
"""The functions of a text that call its kernels: all of them, or a part of them."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A piece of one line."""

    line: int
    column: int
    length: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that stands in an argument."""

    name: str


Argument = tuple[str | Variable, ...]
"""What is written for an argument, cut at the names in it."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A kernel whose text stands in the file."""

    name: str
    spot: Spot
    by: str
    """What makes it of its text, as ``async_compile.cpp_pybinding``."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call that may be that of a kernel."""

    name: str
    """As it is written: ``extern_kernels.mm``; of a kernel of the file, its name."""
    spot: Spot
    arguments: tuple[Argument, ...]
    """Those that the call has, also by keyword."""
    result: str | None
    """The variable that its result is bound to."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that it is given, each once."""
        found = (one for argument in self.arguments for one in argument)
        return tuple(
            dict.fromkeys(one.name for one in found if isinstance(one, Variable))
        )


@dataclass(frozen=True, slots=True)
class Named:
    """A variable, where it stands."""

    name: str
    spot: Spot
    role: Role
    value: tuple[str, Argument] | None = None
    """For one that is bound alone: what is called for its value, and with what."""


@dataclass(frozen=True, slots=True)
class WrapperText:
    """What stands in the text; everything in the order of the text."""

    definition: int
    """The line of ``def call``."""
    defined: tuple[Defined, ...]
    called: tuple[Called, ...]
    named: tuple[Named, ...]
    renamed: dict[str, str]
    """Buffers that go on under another name."""


def read(code: str) -> WrapperText | None:
    """What stands in a text; None for one whose kernels no Python calls."""
    text = _Text(code)
    tree = ast.parse(code)
    runs = [one for one in _functions(tree) if _RUNS.fullmatch(one.name)]
    calls = next((one for one in runs if one.name == "call"), None)
    if calls is None:
        return None
    defined = tuple(text.defined(tree))
    kernels = {one.name for one in defined}
    called: list[Called] = []
    named: list[Named] = []
    renamed: dict[str, str] = {}
    for function in runs:
        for statement in _walk(function):
            if isinstance(statement, ast.Assign | ast.Expr):
                called += text.called(statement, kernels)
            if isinstance(statement, ast.Name):
                named.append(text.named(statement))
            if isinstance(statement, ast.Assign):
                named += text.bound(statement)
                renamed.update(_renamed(statement))
    return WrapperText(
        calls.lineno - 1,
        defined,
        tuple(sorted(called, key=_place)),
        tuple(sorted(_once(named), key=_place)),
        renamed,
    )


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, in the order of the text.

    `ast.walk` takes twice as long, as it looks for parts of names and constants too.
    """
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, ast.Name | ast.Constant):
            continue
        below: list[ast.AST] = []
        for field in one._fields:
            held: object = getattr(one, field, None)
            if isinstance(held, ast.AST):
                below.append(held)
            elif isinstance(held, list):
                parts = cast("list[object]", held)
                below += [part for part in parts if isinstance(part, ast.AST)]
        waiting += reversed(below)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for statement in tree.body:
        inner = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        for one in inner:
            if isinstance(one, ast.FunctionDef):
                yield one


def _place(one: Called | Named) -> tuple[int, int]:
    return one.spot.line, one.spot.column


def _once(named: list[Named]) -> list[Named]:
    """Of a name that was found twice, the finding that says more."""
    found: dict[Spot, Named] = {}
    for one in named:
        if one.value is not None or one.spot not in found:
            found[one.spot] = one
    return [*found.values()]


def _renamed(statement: ast.Assign) -> Iterator[tuple[str, str]]:
    """``buf1 = buf0``, and ``buf1 = reinterpret_tensor(buf0, …)``: old and new."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=new)], value=ast.Name(id=old)):
            yield old, new
        case ast.Assign(
            targets=[ast.Name(id=new)],
            value=ast.Call(
                func=ast.Name(id="reinterpret_tensor"), args=[ast.Name(id=old), *_]
            ),
        ):
            yield old, new
        case _:
            pass


def _written(function: ast.expr) -> str:
    """What is called, as it is written: nearly always a name with dots."""
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(
        function.value, ast.Name | ast.Attribute
    ):
        return f"{_written(function.value)}.{function.attr}"
    return ast.unparse(function)


class _Text:
    """Lines, and what the parser's places in them are in code points."""

    def __init__(self, code: str) -> None:
        self._lines = code.split("\n")
        self._arguments: dict[ast.expr, Argument] = {}
        """What was cut already: what is bound to a call is looked at as a call as well."""

    def defined(self, tree: ast.Module) -> Iterator[Defined]:
        for statement in tree.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id=name) as target],
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id="async_compile")) as by
                    ),
                ):
                    yield Defined(name, self._spot(target), _written(by))
                case _:
                    pass

    def called(
        self, statement: ast.Assign | ast.Expr, kernels: set[str]
    ) -> Iterator[Called]:
        call = statement.value
        if not isinstance(call, ast.Call) or call.func.lineno != call.func.end_lineno:
            return
        result: str | None = None
        if isinstance(statement, ast.Assign):
            match statement.targets:
                case [ast.Name(id=result)]:
                    pass
                case _:
                    return
        function: ast.expr = call.func
        match function:
            case ast.Attribute(value=ast.Name(id=name) as kernel, attr="run") if (
                name in kernels
            ):
                function = kernel
            case _:
                pass
        named = ((f"{one.arg}=", *self._argument(one.value)) for one in call.keywords)
        yield Called(
            _written(function),
            self._spot(function),
            (*map(self._argument, call.args), *named),
            result,
        )

    def named(self, name: ast.Name) -> Named:
        role = _ROLES[type(name.ctx)]
        return Named(name.id, self._spot(name), role)

    def bound(self, statement: ast.Assign) -> Iterator[Named]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                if isinstance(value, ast.Call):
                    how = _written(value.func)
                    parts = [self._argument(one) for one in value.args]
                    joined = [piece for one in parts for piece in (", ", *one)][1:]
                    written = how, tuple(joined)
                else:
                    written = "", self._argument(value)
                yield Named(name, self._spot(target), Role.BINDS, written)
            case _:
                pass

    def _argument(self, value: ast.expr) -> Argument:
        """An argument as it is written, cut at its names; by a rule that fits one line."""
        if isinstance(value, ast.Name):
            return (Variable(value.id),)
        if value not in self._arguments:
            self._arguments[value] = self._cut(value)
        return self._arguments[value]

    def _cut(self, value: ast.expr) -> Argument:
        if value.lineno != value.end_lineno:
            return (ast.unparse(value),)
        start, end = self._spot(value).column, self._end(value)
        line = self._lines[value.lineno - 1]
        parts: list[str | Variable] = []
        names = [one for one in _walk(value) if isinstance(one, ast.Name)]
        for one in sorted(names, key=lambda one: one.col_offset):
            spot = self._spot(one)
            parts += [line[start : spot.column], Variable(one.id)]
            start = spot.column + spot.length
        parts.append(line[start:end])
        return tuple(part for part in parts if part)

    def _spot(self, at: ast.expr) -> Spot:
        start = self._column(at.lineno, at.col_offset)
        return Spot(at.lineno - 1, start, self._end(at) - start)

    def _end(self, at: ast.expr) -> int:
        assert at.end_lineno is not None, "the parser fills it"
        assert at.end_col_offset is not None, "as above"
        return self._column(at.end_lineno, at.end_col_offset)

    def _column(self, line: int, offset: int) -> int:
        text = self._lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode())


_ROLES: dict[type[ast.expr_context], Role] = {
    ast.Store: Role.BINDS,
    ast.Load: Role.READS,
    ast.Del: Role.FREES,
}
