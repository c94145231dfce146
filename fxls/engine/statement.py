"""One node as a line of Python: the text, and which of its words name a node.

A statement is made as pieces: text, and the node itself wherever its name stands. So
a position is known because the piece was put there, and never searched for.
"""

from __future__ import annotations

import enum
import math
import types
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import torch

from fxls.engine.arguments import Argument, Reference
from fxls.engine.names import Namespace, identifier, is_illegal
from fxls.engine.targets import INPLACE_OPERATORS, OPERATORS, qualified_name

if TYPE_CHECKING:
    from fxls.engine.node import Node

__all__ = ["Globals", "Pieces", "attribute_path", "statement", "write"]

Pieces: TypeAlias = "list[str | Node]"


class Globals:
    """The names of one generated function that are not its nodes, and their values.

    A value of torch is reached through the name ``torch``; any other gets a name of its
    own, made of its qualified name. `namespace` makes that name unique; without one the
    name is taken as it is, and `clash` tells when two values wanted the same.
    """

    __slots__ = ("clash", "main", "namespace", "values", "wrapped")

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

    def name_of(self, hint: str, value: Any) -> str:
        """The name by which the code can say `value`; `hint` is what to call it."""
        if value is not torch.device and _is_torchs(value):
            return qualified_name(value)
        if hint.startswith("__main__."):
            hint = self.main + hint[len("__main__") :]
        name = identifier(hint)
        if name in self.values and self.values[name] is value:
            return name
        if self.namespace is not None:
            name = self.namespace.create_name(name, value)
        elif name in self.values or is_illegal(name, value):
            self.clash = True
        self.values[name] = value
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


def statement(node: Node, root: str, scope: Globals) -> Pieces:
    """The line of a node other than placeholder and output, without its indentation."""
    op = node._op
    target: Any = node._target
    out: Pieces = [node]
    if node._type is not None:
        out.append(f" : {scope.annotation(node._type)}")
    if op == "call_function":
        _call_function(node, target, out, scope)
    elif op == "call_method":
        out.append(" = ")
        write(node._args[0], out, scope)
        out.append(f".{target}(")
        _write_arguments(node._args[1:], node._kwargs, out, scope)
        out.append(")")
    elif op == "call_module":
        out.append(f" = {attribute_path(root, target)}(")
        _write_arguments(node._args, node._kwargs, out, scope)
        out.append(")")
    else:
        assert op == "get_attr", f"{node._name}: no line of code for opcode {op!r}"
        out.append(f" = {attribute_path(root, target)}")
    return out


def write(arg: Argument, out: Pieces, scope: Globals) -> None:
    """Append an argument as code."""
    kind: Any = type(arg)
    if isinstance(arg, Reference):
        out.append(cast("Node", arg))
    elif kind in _PLAIN:
        out.append(repr(arg))
    elif isinstance(arg, tuple):
        items = cast("tuple[Any, ...]", arg)
        if hasattr(kind, "_fields"):
            out.append(scope.name_of(qualified_name(kind), kind))
        _write_items("(", items, ",)" if len(items) == 1 else ")", out, scope)
    elif isinstance(arg, list):
        _write_items("[", cast("list[Any]", arg), "]", out, scope)
    elif isinstance(arg, dict):
        out.append("{")
        separator = ""
        for key, value in cast("dict[Any, Any]", arg).items():
            out.append(f"{separator}{key!r}: ")
            write(value, out, scope)
            separator = ", "
        out.append("}")
    elif kind is slice:
        _write_items("slice(", (arg.start, arg.stop, arg.step), ")", out, scope)
    else:
        out.append(_constant(arg, kind, scope))


def attribute_path(root: str, target: str) -> str:
    """A dotted path from the module as an expression: ``getattr(self.layers, "0")``."""
    text = root
    for atom in target.split("."):
        text = f"{text}.{atom}" if atom.isidentifier() else f'getattr({text}, "{atom}")'
    return text


def _call_function(node: Node, target: Any, out: Pieces, scope: Globals) -> None:
    args = node._args
    name = getattr(target, "__name__", "")
    if getattr(target, "__module__", None) == "_operator":
        if name in OPERATORS:
            out.append(" = ")
            _write_operator(OPERATORS[name], args, out, scope)
            return
        if name in INPLACE_OPERATORS:
            bound = out.copy()
            out.clear()
            _write_operator(INPLACE_OPERATORS[name], args, out, scope)
            out += [";  ", *bound, " = "]
            write(args[0], out, scope)
            return
    called = scope.name_of(qualified_name(target), target)
    out.append(" = ")
    if called == "getattr" and len(args) == 2 and _is_plain_attribute(args):
        write(args[0], out, scope)
        out.append(f".{args[1]}")
        return
    out.append(f"{called}(")
    _write_arguments(args, node._kwargs, out, scope)
    out.append(")")
    if node.noted("is_wrapped"):
        scope.wrapped[called] = None


def _is_plain_attribute(args: Sequence[Argument]) -> bool:
    return (
        isinstance(args[1], str)
        and args[1].isidentifier()
        and isinstance(args[0], Reference)
    )


def _write_operator(
    form: str, args: Sequence[Argument], out: Pieces, scope: Globals
) -> None:
    texts = form.split("{}")
    out.append(texts[0])
    for arg, text in zip(args, texts[1:], strict=True):
        write(arg, out, scope)
        out.append(text)


def _write_arguments(
    args: Sequence[Argument], kwargs: dict[str, Argument], out: Pieces, scope: Globals
) -> None:
    separator = ""
    for arg in args:
        if separator:
            out.append(separator)
        write(arg, out, scope)
        separator = ", "
    for key, arg in kwargs.items():
        out.append(f"{separator}{key} = ")
        write(arg, out, scope)
        separator = ", "


def _write_items(
    opening: str, items: Sequence[Argument], closing: str, out: Pieces, scope: Globals
) -> None:
    out.append(opening)
    separator = ""
    for item in items:
        if separator:
            out.append(separator)
        write(item, out, scope)
        separator = ", "
    out.append(closing)


def _constant(arg: Any, kind: Any, scope: Globals) -> str:
    if kind is float:
        return repr(arg) if math.isfinite(arg) else str(arg)
    if isinstance(arg, enum.Enum):
        return f"{scope.name_of(qualified_name(kind), kind)}.{arg.name}"
    if isinstance(arg, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return scope.name_of(qualified_name(arg), arg)
    if isinstance(arg, torch.Tensor):
        dtype = str(arg.dtype).removeprefix("torch.")
        return f"torch.Tensor(size={list(arg.size())}, dtype={dtype})"
    if isinstance(arg, type):
        return scope.name_of(qualified_name(cast("Callable[..., Any]", arg)), arg)
    return repr(arg)


_PLAIN = frozenset({int, str, bool, type(None), complex, bytes, type(...)})


def _is_torchs(value: Any) -> bool:
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
