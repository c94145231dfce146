"""One node as a line of Python.

What stands in the line is made by one `Writer`; how a node is named in it is the caller's
to say. So the same code writes the line for Python, under names that were made unique,
and with a fence around every name, by which positions are known.
"""

from __future__ import annotations

import enum
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch

from fxls.engine.arguments import Argument
from fxls.engine.names import Namespace, identifier, is_illegal
from fxls.engine.node import Node
from fxls.engine.targets import INPLACE_OPERATORS, OPERATORS, qualified_name

__all__ = ["Globals", "Writer", "attribute_path"]


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
        if value is not torch.device and is_torchs(value):
            return qualified_name(value)
        if hint.startswith("__main__."):
            hint = self.main + hint[len("__main__") :]
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
            return "|".join(map(self.annotation, annotation.__args__))
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

    __slots__ = ("_name", "_root", "_scope")

    def __init__(self, root: str, scope: Globals, name: Callable[[Node], str]) -> None:
        self._root = root
        self._scope = scope
        self._name = name

    def statement(self, node: Node, bound: str) -> str:
        """The line of a node other than placeholder and output; `bound` is its name."""
        op = node._op
        target: Any = node._target
        bound = self.annotated(node, bound)
        if op == "call_function":
            return self._call_function(node, target, bound)
        if op == "call_method":
            subject = self.argument(node._args[0])
            arguments = self._arguments(node._args[1:], node._kwargs)
            return f"{bound} = {subject}.{target}({arguments})"
        path = attribute_path(self._root, target)
        if op == "call_module":
            return f"{bound} = {path}({self._arguments(node._args, node._kwargs)})"
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
            items = self._items(parts)
            text = f"({items},)" if len(parts) == 1 else f"({items})"
            if hasattr(kind, "_fields"):
                return self._scope.name_of(qualified_name(kind), kind) + text
            return text
        if isinstance(arg, list):
            return f"[{self._items(cast('list[Any]', arg))}]"
        if isinstance(arg, dict):
            pairs = cast("dict[Any, Any]", arg).items()
            inner = ", ".join([f"{key!r}: {self.argument(v)}" for key, v in pairs])
            return f"{{{inner}}}"
        if kind is slice:
            return f"slice({self._items((arg.start, arg.stop, arg.step))})"
        return _constant(arg, kind, self._scope)

    def _call_function(self, node: Node, target: Any, bound: str) -> str:
        args = node._args
        form, called = _known_form(target)
        if form is not None:
            written = [self.argument(arg) for arg in args]
            return form.format(*written, bound=bound, first=written[0])
        if called is None:
            called = self._scope.name_of(qualified_name(target), target)
            if called == "getattr" and len(args) == 2 and _is_plain_attribute(args):
                return f"{bound} = {self.argument(args[0])}.{args[1]}"
        if node.noted("is_wrapped"):
            self._scope.wrapped[called] = None
        return f"{bound} = {called}({self._arguments(args, node._kwargs)})"

    def _arguments(
        self, args: Sequence[Argument], kwargs: Mapping[str, Argument]
    ) -> str:
        if not kwargs:
            return self._items(args)
        written = [self.argument(arg) for arg in args]
        written += [f"{key} = {self.argument(arg)}" for key, arg in kwargs.items()]
        return ", ".join(written)

    def _items(self, items: Sequence[Argument]) -> str:
        name = self._name
        return ", ".join(
            [name(i) if type(i) is Node else self.argument(i) for i in items]
        )


def attribute_path(root: str, target: str) -> str:
    """A dotted path from the module as an expression: ``getattr(self.layers, "0")``."""
    text = root
    for atom in target.split("."):
        text = f"{text}.{atom}" if atom.isidentifier() else f'getattr({text}, "{atom}")'
    return text


def _known_form(target: Any) -> tuple[str | None, str | None]:
    """How a call of a target is written in every graph: its form, or its name.

    The form is that of an operator, with a place for each argument, for what is bound,
    and for the first argument once more. Both are None when it depends on the graph's other names.
    """
    known = _forms.get(id(target))
    if known is None or known[0] is not target:
        known = (target, *_form(target))
        if known[1] or known[2]:
            _forms[id(target)] = known
    return known[1], known[2]


def _form(target: Any) -> tuple[str | None, str | None]:
    if getattr(target, "__module__", None) == "_operator":
        if target.__name__ in OPERATORS:
            return "{bound} = " + OPERATORS[target.__name__], None
        if target.__name__ in INPLACE_OPERATORS:
            return INPLACE_OPERATORS[target.__name__] + ";  {bound} = {first}", None
    if target is not torch.device and is_torchs(target):
        return None, qualified_name(target)
    return None, None


_forms: dict[int, tuple[Any, str | None, str | None]] = {}
"""By identity; the target is kept, so that its id stays its own. Only operators and
functions of torch, which live as long as the process."""


def _is_plain_attribute(args: Sequence[Argument]) -> bool:
    return (
        isinstance(args[1], str)
        and args[1].isidentifier()
        and isinstance(args[0], Node)
    )


def _constant(arg: Any, kind: Any, scope: Globals) -> str:
    if kind is float:
        return repr(arg) if math.isfinite(arg) else str(arg)
    if isinstance(arg, enum.Enum):
        return f"{scope.name_of(kind.__name__, kind)}.{arg.name}"
    if isinstance(arg, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return scope.name_of(qualified_name(cast("Any", arg)), arg)
    if isinstance(arg, torch.Tensor):
        dtype = str(arg.dtype).removeprefix("torch.")
        return f"torch.Tensor(size={list(arg.size())}, dtype={dtype})"
    if isinstance(arg, type):
        return scope.name_of(qualified_name(cast("Callable[..., Any]", arg)), arg)
    return repr(arg)


_PLAIN = frozenset({int, str, bool, type(None), complex, bytes, type(...)})


def is_torchs(value: Any) -> bool:
    """Whether the name ``torch`` leads to a value."""
    module = getattr(value, "__module__", None)
    if module is not None:
        return module.partition(".")[0] == "torch" and not module.startswith(
            ("torch._dynamo.", "torch._inductor.")
        )
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
