"""The module classes of a source file, found without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from fxls.text import LineTable, Point, Span

__all__ = ["ModuleClass", "Parameter", "class_at", "modules", "parsed"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a constructor or a forward takes."""

    name: str
    annotation: str
    """As it is written; empty without one."""
    default: str | None
    """As it is written; None for one that must be given."""


@dataclass(frozen=True, slots=True)
class ModuleClass:
    """A class of the file that is an ``nn.Module`` with a ``forward``."""

    name: str
    span: Span
    """The name in its class statement."""
    constructible: bool
    """Whether its constructor needs no arguments."""
    parameters: tuple[Parameter, ...] = ()
    """Those of its constructor, without stars; none where a dataclass writes it."""
    inputs: tuple[Parameter, ...] = ()
    """Those of its forward, without stars."""
    open: bool = True
    """Whether its constructor takes keywords that are not in `parameters`."""


def modules(text: str) -> tuple[ModuleClass, ...]:
    """The module classes at the top level of a file; none when it does not parse.

    A class counts as a module when the name of a base ends in ``Module``, or is that
    of such a class above it. Bases of other files are taken at their name.
    """
    tree = parsed(text)
    if tree is None or "Module" not in text:
        return ()
    lines = LineTable(text)
    known: dict[str, _Class] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            bases = tuple(known[b] for b in _bases(statement) if b in known)
            known[statement.name] = _Class(statement, bases)
    return tuple(
        ModuleClass(
            name,
            _name_span(lines, found.node),
            not found.needs_arguments(),
            _parameters(found.method("__init__")),
            _parameters(found.method("forward")),
            _takes_any(found.method("__init__")),
        )
        for name, found in known.items()
        if found.is_module() and found.has_forward()
    )


def class_at(lines: LineTable, point: Point) -> tuple[str, Span] | None:
    """The class whose name in its class statement is under a cursor, in any text."""
    match = _CLASS.match(lines.line(point.line))
    if match is None:
        return None
    span = Span.of(point.line, match.start(1), point.line, match.end(1))
    return (match[1], span) if span.touches(point) else None


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of a file; None when Python cannot read it."""
    try:
        with warnings.catch_warnings():
            # Python warns of odd escapes in the user's strings; they are not ours.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_CLASS = re.compile(r"\s*class\s+(\w+)")


@dataclass(frozen=True, slots=True)
class _Class:
    node: ast.ClassDef
    bases: tuple[_Class, ...]
    """Those of the same file."""

    def is_module(self) -> bool:
        return any(name.endswith("Module") for name in _bases(self.node)) or any(
            base.is_module() for base in self.bases
        )

    def has_forward(self) -> bool:
        forward = self.method("forward")
        return forward is not None and not any(
            _last_name(decorator) == "abstractmethod"
            for decorator in forward.decorator_list
        )

    def needs_arguments(self) -> bool:
        init = self.method("__init__")
        if init is not None:
            return _needs_arguments(init.args)
        return any(_has_required_field(found.node) for found in self._lineage())

    def method(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        for found in self._lineage():
            for statement in found.node.body:
                if (
                    isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
                    and statement.name == name
                ):
                    return statement
            if name == "__init__" and _dataclass(found.node):
                return None
        return None

    def _lineage(self) -> Iterator[_Class]:
        yield self
        for base in self.bases:
            yield from base._lineage()


def _bases(node: ast.ClassDef) -> list[str]:
    return [_last_name(base) for base in node.bases]


def _last_name(expression: ast.expr) -> str:
    """``Module`` for ``torch.nn.Module``, ``Base`` for ``Base[int]``."""
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
        case ast.Call(func=function):
            return _last_name(function)
        case _:
            return ""


def _parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef | None,
) -> tuple[Parameter, ...]:
    """The parameters behind ``self``."""
    if function is None:
        return ()
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    unset: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    given = [
        *zip(positional, [*unset, *arguments.defaults], strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return tuple(
        Parameter(
            argument.arg,
            ast.unparse(argument.annotation) if argument.annotation else "",
            None if default is None else ast.unparse(default),
        )
        for argument, default in given[1:]
    )


def _takes_any(function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> bool:
    return function is None or function.args.kwarg is not None


def _needs_arguments(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args) - 1
    return positional > len(arguments.defaults) or None in arguments.kw_defaults


def _dataclass(node: ast.ClassDef) -> bool:
    return any(
        _last_name(decorator) in {"dataclass", "define", "frozen", "mutable", "attrs"}
        for decorator in node.decorator_list
    )


def _has_required_field(node: ast.ClassDef) -> bool:
    if not _dataclass(node):
        return False
    return any(
        isinstance(statement, ast.AnnAssign)
        and _last_name(statement.annotation) not in {"ClassVar", "KW_ONLY"}
        and (statement.value is None or _required_by(statement.value))
        for statement in node.body
    )


def _required_by(value: ast.expr) -> bool:
    """Whether a ``field(...)`` call leaves its field without a default."""
    if not isinstance(value, ast.Call) or _last_name(value) not in {"field", "ib"}:
        return False
    given = {keyword.arg for keyword in value.keywords}
    return not given & {"default", "default_factory", "factory", "init"}


def _name_span(lines: LineTable, node: ast.ClassDef) -> Span:
    line = node.lineno - 1
    match = _CLASS.match(lines.line(line))
    start, end = match.span(1) if match else (0, len(lines.line(line)))
    return Span.of(line, start, line, end)
