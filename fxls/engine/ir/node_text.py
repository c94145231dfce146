"""A graph as text that people read: `str(graph)` and what it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import torch

from fxls.engine.ir.arguments import ATOMS, Argument, Reference
from fxls.engine.ir.target_names import pretty_target
from fxls.engine.torch_private import dtype_abbrs

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node

__all__ = [
    "dtype_text",
    "format_arg",
    "format_graph",
    "format_node",
    "pretty_target",
    "type_text",
]


def format_graph(nodes: Iterable[Node]) -> str:
    """The lines of `str(graph)`."""
    return "\n    ".join(["graph():", *map(_line, nodes)])


def format_node(
    node: Node,
    placeholder_names: list[str] | None = None,
    return_types: list[str] | None = None,
    *,
    include_tensor_metadata: bool = False,
) -> str | None:
    """One node as a line; see `Node.format_node` for the two lists."""
    if node.op == "placeholder" and placeholder_names:
        annotation = f" : {type_text(node.type)}" if node.type else ""
        placeholder_names.append(node.target + annotation)
        return None
    if node.op == "output" and node.type and return_types:
        return_types[0] = f" -> {type_text(node.type)}"
    return _line(node, _tensor_text(node) if include_tensor_metadata else "")


def format_arg(arg: Argument) -> str:
    """An argument with its nodes as ``%name``."""
    if isinstance(arg, Reference):
        return f"%{cast('Node', arg).name}"
    if type(arg) is str:
        return arg
    if isinstance(arg, list):
        return f"[{', '.join(_formatted(cast('list[Any]', arg)))}]"
    if isinstance(arg, tuple):
        items = _formatted(cast("tuple[Any, ...]", arg))
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(arg, dict):
        pairs = cast("dict[Any, Any]", arg).items()
        return "{" + ", ".join([f"{k}: {format_arg(v)}" for k, v in pairs]) + "}"
    custom = getattr(arg, "_custom_fx_repr_fn", None)
    return str(arg) if custom is None else custom()


def _formatted(args: Iterable[Any], kind: type[Any] = Reference) -> list[str]:
    """Each argument as `format_arg` writes it; `kind` is the class of most nodes."""
    formatted: list[str] = []
    for arg in args:
        if type(arg) is kind:
            formatted.append(f"%{arg._name}")
        elif type(arg) in ATOMS:
            formatted.append(str(arg))
        else:
            formatted.append(format_arg(arg))
    return formatted


def type_text(annotation: Any) -> str:
    """An annotation as people read it: modules dropped for builtins alone."""
    if isinstance(annotation, type) and not hasattr(annotation, "__origin__"):
        if annotation.__module__ == "builtins":
            return annotation.__qualname__
        return f"{annotation.__module__}.{annotation.__qualname__}"
    if annotation is ...:
        return "..."
    return repr(annotation)


def dtype_text(dtype: torch.dtype) -> str:
    """A dtype in few letters: ``f32``; its name, where torch has no abbreviation."""
    return dtype_abbrs.get(dtype) or str(dtype).removeprefix("torch.")


def _line(node: Node, known: str = "") -> str:
    """The line; what is `known` of the value stands in place of its type."""
    op = node._op
    if op == "output":
        return f"return {node._args[0]}"
    annotation = "" if node._type is None else _annotation(node)
    if known and op.startswith("call_"):
        annotation = known
    users = node._users
    count = len(users) if type(users) is dict else 0 if users is None else 1
    target = node._target
    if type(target) is not str:
        target = pretty_target(target)
    head = f"%{node._name} : {annotation}[num_users={count}] = {op}[target={target}]"
    if op == "placeholder":
        return f"{head}(default={node._args[0]})" if node._args else head
    if op == "get_attr":
        return head
    args = _formatted(node._args, type(node))
    listed = f"{args[0]}," if len(args) == 1 else ", ".join(args)
    kwargs = format_arg(node._kwargs) if node._kwargs else "{}"
    return f"{head}(args = ({listed}), kwargs = {kwargs})"


def _annotation(node: Node) -> str:
    return f"{type_text(node._type)} " if node._type else ""


def _tensor_text(node: Node) -> str:
    """Type, shape, strides and device of a node's value; empty when it is no tensor."""
    meta = node.noted_all()
    value = meta.get("val", meta.get("tensor_meta", meta.get("example_value")))
    if not isinstance(value, torch.Tensor) or value.layout in _WITHOUT_STRIDES:
        return ""
    sizes, strides = (", ".join(map(str, x)) for x in (value.shape, value.stride()))
    kind = dtype_text(value.dtype)
    return f'Tensor "{kind}[{sizes}][{strides}]{value.device}"'


_WITHOUT_STRIDES = (torch.sparse_csc, torch.sparse_csr)
