"""One node as a line of Python.

What stands in the line is made by one `Writer`; how a node is named in it is the caller's
to say. So the same code writes the line for Python, under names that were made unique,
and with a fence around every name, by which positions are known.
"""

from __future__ import annotations

import enum
import keyword
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, cast

import torch

from fxls.engine.code.fences import BINDS, FENCE, FREES, READS
from fxls.engine.ir.arguments import Argument
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.names import Namespace, identifier, is_illegal
from fxls.engine.ir.node import Node
from fxls.engine.ir.target_names import INPLACE_OPERATORS, OPERATORS, qualified_name
from fxls.engine.torch_private import (
    COMPILERS,
    UNIONS_BY_NAME,
    OpOverload,
    OpOverloadPacket,
)

__all__ = ["FencedWriter", "Globals", "PlainWriter", "Writer"]


class Globals:
    """The names of one generated function that are not its nodes, and their values.

    A value of torch is reached through the name ``torch``; any other gets a name of its
    own, made of its qualified name. `namespace` makes that name unique; without one the
    name is taken as it is, and `clash` tells when two values wanted the same.
    """

    __slots__ = ("clash", "main", "namespace", "needed", "values", "wrapped")

    def __init__(
        self, namespace: Namespace | None = None, main: str = "__main__"
    ) -> None:
        self.namespace = namespace
        self.main = main
        """What the names of the program's own module begin with."""
        self.values: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        """The names of functions that a later trace must record as calls again."""
        self.clash = False
        self.needed: dict[str, Any] = {}
        """What was asked for since the writer of a line last emptied it."""

    def name_of(self, hint: str, value: Any) -> str:
        """The name by which the code can say `value`; `hint` is what to call it."""
        if value is torch.device:
            return "device"  # a name that every generated function has
        if is_in_torch(value):
            return qualified_name(value)
        if self.main != "__main__" and hint.startswith(_MAIN):
            hint = self.main + hint[hint.index(".") :]
        name = identifier(hint)
        if name in self.values and self.values[name] is value:
            self.needed[name] = value
            return name
        if self.namespace is not None:
            name = self.namespace.create_name(name, value)
        elif name in self.values or is_illegal(name, value):
            self.clash = True
        self.values[name] = self.needed[name] = value
        return name

    def annotation(self, annotation: Any) -> str:
        """An annotation as code; what it is made of becomes global."""
        if annotation == ():
            return "()"  # the () of tuple[()]
        origin: Any = getattr(annotation, "__origin__", None)
        if isinstance(annotation, types.UnionType):
            if not UNIONS_BY_NAME:
                return "|".join(map(self.annotation, annotation.__args__))
            if types.UnionType is not typing.Union:  # both are one from Python 3.14 on
                return self.annotation(typing.Union[annotation.__args__])  # noqa: UP007 - its form
        if origin is None or (
            isinstance(annotation, type) and not _arguments(annotation)
        ):
            return self._plain_annotation(annotation)
        base = (
            origin
            if type(annotation) is types.GenericAlias
            else _typing_form(annotation, origin)
        )
        name = self._plain_annotation(base)
        arguments = _arguments(annotation)
        if not arguments:
            return name
        return f"{name}[{','.join(map(self._annotation_argument, arguments))}]"

    def _annotation_argument(self, argument: Any) -> str:
        if isinstance(argument, list):  # the parameters of a Callable
            inner = cast("list[Any]", argument)
            return f"[{','.join(map(self.annotation, inner))}]"
        return self.annotation(argument)

    def _plain_annotation(self, annotation: Any) -> str:
        return self.name_of(_annotation_hint(annotation), annotation)


class Writer:
    """Writes nodes and arguments; `name` says how a node is named where it is used."""

    __slots__ = ("_name", "_paths", "_root", "_scope")

    def __init__(self, root: str, scope: Globals, name: Callable[[Node], str]) -> None:
        self._root = root
        self._scope = scope
        self._name = name
        self._paths = {"": root}

    def statement(self, node: Node, bound: str) -> str:
        """The line of a node other than placeholder and output.

        `bound` is its name, `annotated` with what is said of it.
        """
        op = node._op
        target: Any = node._target
        written = self._written(node._args)
        if op == "call_function":
            return self._call_function(node, target, bound, written)
        if op == "call_method":
            if node._kwargs:
                written += self._keywords(node._kwargs)
            return f"{bound} = {written[0]}.{target}({', '.join(written[1:])})"
        path = self._paths.get(target) or self._path(target)
        if op == "call_module":
            if node._kwargs:
                written += self._keywords(node._kwargs)
            return f"{bound} = {path}({', '.join(written)})"
        assert op == "get_attr", f"{node._name}: no line of code for opcode {op!r}"
        return f"{bound} = {path}"

    def annotated(self, node: Node, bound: str) -> str:
        """The name of a node where it is bound, with what is said of its value."""
        if node._type is None:
            return bound
        return f"{bound} : {self._scope.annotation(node._type)}"

    def argument(self, arg: Argument) -> str:
        """An argument as code."""
        kind: Any = type(arg)  # pyright: ignore[reportUnknownVariableType]  # any class
        if kind is Node:
            return self._name(arg)
        if kind in _PLAIN:
            return repr(arg)
        if isinstance(arg, tuple):
            parts = cast("tuple[Any, ...]", arg)
            items = ", ".join(self._written(parts))
            text = f"({items},)" if len(parts) == 1 else f"({items})"
            if hasattr(kind, "_fields"):
                return self._scope.name_of(qualified_name(kind), kind) + text
            return text
        if isinstance(arg, list):
            return f"[{', '.join(self._written(cast('list[Any]', arg)))}]"
        if isinstance(arg, dict):
            pairs = cast("dict[Any, Any]", arg).items()
            inner = ", ".join([f"{key!r}: {self.argument(v)}" for key, v in pairs])
            return f"{{{inner}}}"
        if kind is slice:
            parts = (arg.start, arg.stop, arg.step)
            return f"slice({', '.join(self._written(parts))})"
        return _constant(arg, kind, self._scope)

    def _call_function(
        self, node: Node, target: Any, bound: str, written: list[str]
    ) -> str:
        form = _forms.get(id(target))
        if form is None or form.target is not target:
            form = _form(target)
        parts = form.parts
        if parts is not None:
            operation = _operation(parts, written)
            if form.is_inplace:
                return f"{operation};  {bound} = {written[0]}"
            return f"{bound} = {operation}"
        called = form.name
        if called is None:
            called = self._scope.name_of(qualified_name(target), target)
            if called == "getattr" and len(written) == 2:
                attribute = _plain_attribute(node._args)
                if attribute is not None:
                    return f"{bound} = {written[0]}.{attribute}"
            if node.noted("is_wrapped"):
                self._scope.wrapped[called] = None
        elif node.graph._may_wrap_torch and node.noted("is_wrapped"):
            self._scope.wrapped[called] = None
        if node._kwargs:
            written += self._keywords(node._kwargs)
        return f"{bound} = {called}({', '.join(written)})"

    def _written(self, arguments: Sequence[Argument]) -> list[str]:
        name = self._name
        argument = self.argument
        return [name(a) if type(a) is Node else argument(a) for a in arguments]

    def _keywords(self, kwargs: Mapping[str, Argument]) -> list[str]:
        return [f"{key} = {self.argument(arg)}" for key, arg in kwargs.items()]

    def _path(self, path: str) -> str:
        """A dotted path from the module as an expression."""
        known = self._paths.get(path)
        if known is None:
            way, _, atom = path.rpartition(".")
            holder = self._path(way)
            known = (
                f"{holder}.{atom}"
                if atom.isidentifier() and not keyword.iskeyword(atom)
                else f'getattr({holder}, "{atom}")'
            )
            self._paths[path] = known
        return known


class PlainWriter(Writer):
    """Writes lines for nodes under their own names, in half of the time."""

    __slots__ = ("_freed", "_user")

    def __init__(self, root: str, scope: Globals) -> None:
        super().__init__(root, scope, attrgetter("_name"))
        self._user: Node | None = None
        self._freed: list[str] = []
        """The names that were written and nobody needs behind the line."""

    def line(self, node: Node, bound: str | None = None) -> str:
        """The line of a node, with what it frees; after `note_last_users`.

        `bound` is its name with what else is to be said of it than its type.
        """
        self._user = node
        freed: list[str] = []
        self._freed = freed
        name = node._name
        if bound is None:
            bound = name if node._type is None else self.annotated(node, name)
        text = self.statement(node, bound)
        if node._last_user is node:
            freed.append(name)
        if not freed:
            return text
        names = freed[0] if len(freed) == 1 else " = ".join(freed)
        return f"{text};  {names} = None"

    def argument(self, arg: Argument) -> str:
        return self._written((arg,))[0] if type(arg) is Node else super().argument(arg)

    def _written(self, arguments: Sequence[Argument]) -> list[str]:
        written: list[str] = []
        for a in arguments:
            if type(a) is Node:
                name = a._name
                written.append(name)
                if a._last_user is self._user and name not in self._freed:
                    self._freed.append(name)
            elif type(a) in _PLAIN or (
                type(a) is tuple and _PLAIN.issuperset(map(type, cast("Any", a)))
            ):
                written.append(repr(cast("object", a)))
            else:
                written.append(self.argument(a))
        return written


class FencedWriter(PlainWriter):
    """Writes the same lines with a fence around each name of a node."""

    __slots__ = ()

    def line(self, node: Node, bound: str | None = None) -> str:
        self._user = node
        freed: list[str] = []
        self._freed = freed
        name = node._name
        if bound is None:
            bound = f"{BINDS}{name}{FENCE}"
            if node._type is not None:
                bound = self.annotated(node, bound)
        text = self.statement(node, bound)
        if node._last_user is node:
            freed.append(name)
        if not freed:
            return text
        return f"{text};  {FREES}{_BETWEEN.join(freed)}{FENCE} = None"

    def _written(self, arguments: Sequence[Argument]) -> list[str]:
        written: list[str] = []
        for a in arguments:
            if type(a) is Node:
                name = a._name
                written.append(f"{READS}{name}{FENCE}")
                if a._last_user is self._user and name not in self._freed:
                    self._freed.append(name)
            elif type(a) in _PLAIN:
                written.append(repr(cast("object", a)))
            else:
                written.append(self.argument(a))
        return written


_BETWEEN = f"{FENCE} = {FREES}"


class _Form(NamedTuple):
    """How a call of a target is written in every graph.

    As an operator, or by a name; both are None when it depends on the graph's other names.
    """

    target: Any
    parts: tuple[str, ...] | None = None
    """What stands in front of, between and behind the operands."""
    is_inplace: bool = False
    name: str | None = None


def _operation(parts: tuple[str, ...], operands: list[str]) -> str:
    """An operator with its operands; what is left over is not written."""
    if len(parts) == 3:
        start, middle, end = parts
        return f"{start}{operands[0]}{middle}{operands[1]}{end}"
    text = parts[0]
    for i, part in enumerate(parts[1:]):
        text += operands[i] + part
    return text


def _form(target: Any) -> _Form:
    form = _Form(target)
    if getattr(target, "__module__", None) == "_operator":
        if (operator := OPERATORS.get(target.__name__)) is not None:
            form = _Form(target, tuple(operator.split("{}")))
        elif (operator := INPLACE_OPERATORS.get(target.__name__)) is not None:
            form = _Form(target, tuple(operator.split("{}")), is_inplace=True)
    if form.parts is None and target is not torch.device and is_in_torch(target):
        form = _Form(target, name=qualified_name(target))
    if form.parts is not None or form.name is not None:
        _forms[id(target)] = form
    return form


_forms: dict[int, _Form] = {}
"""By identity; the target is kept, so that its id stays its own. Only operators and
functions of torch, which live as long as the process."""


def _plain_attribute(args: Sequence[Argument]) -> str | None:
    """What a getattr reads, where code can say it with a dot."""
    value, name = args
    if isinstance(value, Node) and isinstance(name, str) and name.isidentifier():
        return None if keyword.iskeyword(name) else name
    return None


def _constant(arg: Any, kind: Any, scope: Globals) -> str:
    if kind is float:
        return repr(arg) if math.isfinite(arg) else str(arg)
    if kind is complex:
        return _complex(arg, scope)
    if isinstance(arg, enum.Enum):
        return f"{scope.name_of(kind.__name__, kind)}.{arg.name}"
    if isinstance(arg, OpOverload | OpOverloadPacket):
        return scope.name_of(qualified_name(cast("Any", arg)), arg)
    if isinstance(arg, torch.Tensor):
        dtype = str(arg.dtype).removeprefix("torch.")
        return f"torch.Tensor(size={list(arg.size())}, dtype={dtype})"
    if isinstance(arg, type):
        return scope.name_of(qualified_name(cast("Callable[..., Any]", arg)), arg)
    refuse_foreign(arg)
    return repr(arg)


def _complex(number: complex, scope: Globals) -> str:
    """A complex number as code.

    What `repr` writes loses the sign of a zero, and names ``nanj`` and ``infj``.
    """
    parts = (number.real, number.imag)
    if all(part != 0 and math.isfinite(part) for part in parts):
        return repr(number)
    return f"complex({', '.join(_constant(part, float, scope) for part in parts)})"


_PLAIN = frozenset({int, str, bool, type(None), bytes, type(...)})


def is_in_torch(value: Any) -> bool:
    """Whether the name ``torch`` leads to a value."""
    module = getattr(value, "__module__", None)
    if module is not None:
        return module.partition(".")[0] == "torch" and not module.startswith(COMPILERS)
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return False
    return any(
        getattr(holder, name, None) is value for holder in (torch, torch.nn.functional)
    )


def _arguments(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation)


def _typing_form(annotation: Any, origin: Any) -> Any:
    """The bare form of a subscripted alias of `typing`: ``List`` of ``List[int]``."""
    if origin is typing.Union:
        return origin
    return getattr(typing, getattr(annotation, "_name", None) or "", origin)


def _annotation_hint(annotation: Any) -> str:
    if isinstance(annotation, type):
        if annotation.__module__ == "builtins":
            return annotation.__qualname__
        return f"{annotation.__module__}.{annotation.__qualname__}"
    if annotation is ...:
        return "..."
    return repr(annotation)


_MAIN = ("__main__.", "__mp_main__.")
"""What names of the program begin with, also in a process that it spawned."""
