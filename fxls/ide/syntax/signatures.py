"""What the classes of a source file are called with, by their syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = [
    "MODULES",
    "ClassSyntax",
    "Parameter",
    "classes",
    "parameters",
    "takes_any",
]


_CONFIGURED = ("PreTrainedModel", "PretrainedModel")
"""The bases of models of Hugging Face, which are made of a configuration."""

MODULES = ("Module", *_CONFIGURED, "GradientCheckpointingLayer")
"""How the names of classes end that other files define, and that are modules."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a constructor or a forward takes."""

    name: str
    annotation: str
    """As it is written; empty without one."""
    default: str | None
    """As it is written; None for one that must be given."""
    by_keyword: bool = False
    """Whether it can be given by its name alone."""


@dataclass(frozen=True, slots=True)
class ClassSyntax:
    """A class statement."""

    node: ast.ClassDef
    bases: tuple[ClassSyntax, ...]
    """Those of the same file."""

    def is_module(self) -> bool:
        return any(name.endswith(MODULES) for name in _bases(self.node)) or any(
            base.is_module() for base in self.bases
        )

    def is_enum(self) -> bool:
        return any(name.endswith("Enum") for name in _bases(self.node))

    def has_forward(self) -> bool:
        forward = self.method("forward")
        return forward is not None and not any(
            _last_name(decorator) == "abstractmethod"
            for decorator in forward.decorator_list
        )

    def is_abstract(self) -> bool:
        """Whether it leaves a method to the classes below it."""
        names = {
            statement.name
            for found in self._lineage()
            for statement in found.node.body
            if isinstance(statement, ast.FunctionDef)
        }
        methods = (self.method(name) for name in names)
        return any(
            _last_name(decorator) == "abstractmethod"
            for method in methods
            for decorator in (method.decorator_list if method else ())
        )

    def needs_arguments(self) -> bool:
        init = self.method("__init__")
        if init is not None:
            return _needs_arguments(init.args)
        return any(
            _has_required_field(found.node)
            or any(name.endswith(_CONFIGURED) for name in _bases(found.node))
            for found in self._lineage()
        )

    def fields(self) -> tuple[Parameter, ...]:
        """What an instance has by its constructor, or by annotations where none is."""
        init = self.method("__init__")
        if init is not None:
            return parameters(init)
        return tuple(
            field
            for found in reversed([*self._lineage()])
            for field in _fields(found.node)
        )

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

    def _lineage(self) -> Iterator[ClassSyntax]:
        yield self
        for base in self.bases:
            yield from base._lineage()


def classes(statements: Iterable[ast.stmt]) -> dict[str, ClassSyntax]:
    """The classes at the top level of a file, by their names."""
    known: dict[str, ClassSyntax] = {}
    for statement in statements:
        if isinstance(statement, ast.ClassDef):
            bases = tuple(known[b] for b in _bases(statement) if b in known)
            known[statement.name] = ClassSyntax(statement, bases)
    return known


def parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef | None, first: int = 1
) -> tuple[Parameter, ...]:
    """The parameters from a first one on: of methods, those behind ``self``."""
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
            argument in arguments.kwonlyargs,
        )
        for argument, default in given[first:]
    )


def takes_any(function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> bool:
    return function is None or function.args.kwarg is not None


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


def _needs_arguments(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args) - 1
    return positional > len(arguments.defaults) or None in arguments.kw_defaults


def _dataclass(node: ast.ClassDef) -> bool:
    """Whether its constructor is made of its fields."""
    return any(
        _last_name(decorator) in {"dataclass", "define", "frozen", "mutable", "attrs"}
        for decorator in node.decorator_list
    ) or not {"BaseModel", "NamedTuple", "Struct"}.isdisjoint(_bases(node))


def _has_required_field(node: ast.ClassDef) -> bool:
    return any(field.default is None for field in _fields(node))


def _fields(node: ast.ClassDef) -> Iterator[Parameter]:
    """The fields of a class whose constructor nobody wrote."""
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=said, value=value):
                if _last_name(said) in {"ClassVar", "KW_ONLY"}:
                    continue
                required = value is None or _required_by(value)
                if required and not _dataclass(node):
                    continue
                default = None if required or value is None else ast.unparse(value)
                yield Parameter(name, ast.unparse(said), default)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield Parameter(name, "", ast.unparse(value))
            case _:
                pass


def _required_by(value: ast.expr) -> bool:
    """Whether a ``field(...)`` call leaves its field without a default."""
    if not isinstance(value, ast.Call) or _last_name(value) not in {"field", "ib"}:
        return False
    given = {keyword.arg for keyword in value.keywords}
    return not given & {"default", "default_factory", "factory", "init"}
