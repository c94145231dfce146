"""How values of the traced program become arguments of nodes.

One rule for each kind of value, found by its exact type or else in the order in which
they stand in `lower`; each rule asks the tracer for the parts, so overrides see them all.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import torch

from fxls.engine import errors
from fxls.engine.immutable_collections import immutable_dict, immutable_list
from fxls.engine.ir.arguments import Argument, map_references
from fxls.engine.torch_private import (
    HigherOrderOperator,
    OpOverload,
    is_opaque_value_type,
    pytree,
)

if TYPE_CHECKING:
    from fxls.engine.ir.node import Node
    from fxls.engine.tracing.proxy import Proxy, TracerBase

__all__ = [
    "ATOMS",
    "CLASS_OF_TORCH",
    "Traced",
    "lower",
    "node_of",
    "proxies_in",
    "refuse_kept",
]

CLASS_OF_TORCH: type = cast("Any", torch).fx.Proxy
"""What a traced value says that it is."""

ATOMS = frozenset(
    {
        str,
        int,
        float,
        bool,
        complex,
        type(None),
        type(...),
        torch.dtype,
        torch.device,
        torch.memory_format,
        torch.layout,
        torch.SymInt,
        torch.SymBool,
        torch.SymFloat,
    }
)
"""Exact types of values that stand for themselves."""


class Traced:
    """What stands for a node while the program runs: the base of `Proxy`."""

    node: Node

    if not TYPE_CHECKING:  # where `__class__` has a setter

        @property
        def __class__(self) -> type:
            """torch.fx's class, so that ``isinstance(x, torch.fx.Proxy)`` is true.

            Programs ask that to find out whether they are traced. Python looks at the
            class itself first, so the same is true of this one.
            """
            return CLASS_OF_TORCH


def lower(tracer: TracerBase, a: object) -> Argument:
    """What stands in a node for `a`; see `TracerBase.create_arg`."""
    kind = type(a)
    if kind in ATOMS:
        return a
    rule = _BY_TYPE.get(kind)
    if rule is not None:
        return rule(tracer, a)
    if isinstance(a, Traced):
        return node_of(tracer, a)
    if hasattr(a, "__fx_create_arg__"):
        return cast("Any", a).__fx_create_arg__(tracer)
    for base, rule in _BY_BASE:
        if isinstance(a, base):
            return rule(tracer, a)
    if is_opaque_value_type(kind):
        return a
    if dataclasses.is_dataclass(a):
        return _dataclass(tracer, a)
    if isinstance(a, _PLAIN):
        return a
    raise errors.UnsupportedArgumentError(
        f"argument of type: {kind}", frames=tracer._here(sys._getframe(1))
    )


def node_of(tracer: TracerBase, value: Traced) -> Node:
    """The node of a traced value; raises KeptValueError for one of another graph."""
    node = value.node
    # A tracer of one's own need not have a graph.
    if node.graph is not getattr(tracer, "graph", node.graph):
        refuse_kept(tracer, value)
    return node


def refuse_kept(tracer: TracerBase, value: Traced) -> NoReturn:
    """Say that a value of an earlier trace is used in this one, and who keeps it."""
    node = value.node
    raise errors.KeptValueError(
        f"{node.name} is a value of an earlier trace{_keeper(tracer, value)}, and cannot"
        " be used in this one",
        frames=tracer._here(sys._getframe(1)),
        made=node.origin,
    )


def _keeper(tracer: TracerBase, value: Traced) -> str:
    """Which attribute of the traced module holds a value."""
    root: Any = getattr(tracer, "root", None)
    if root is None:
        return ""
    modules: Iterator[tuple[str, Any]] = root.named_modules()
    for path, module in modules:
        attributes: dict[str, Any] = module.__dict__
        for name, held in attributes.items():
            if any(found is value for found in proxies_in(held)):
                of = f" (at {path!r})" if path else ""
                return f", kept in {name!r} of {type(module).__name__}{of}"
    return ""


def proxies_in(a: object) -> Iterator[Proxy]:
    """The proxies in a value, in the order they stand there."""
    kind = type(a)
    if kind in ATOMS or kind is torch.Tensor:
        return
    if isinstance(a, Traced):
        yield cast("Proxy", a)
    elif isinstance(a, tuple | list):
        for x in cast("list[Any]", a):
            # A generator for each element would take ten times as long.
            if isinstance(x, Traced):
                yield cast("Proxy", x)
            elif type(x) not in ATOMS:
                yield from proxies_in(x)
    elif isinstance(a, dict):
        for x in cast("dict[Any, Any]", a).values():
            yield from proxies_in(x)
    elif kind is slice:
        whole = cast("slice[Any, Any, Any]", a)
        yield from proxies_in((whole.start, whole.stop, whole.step))
    elif pytree.SUPPORTED_NODES.get(kind) is not None:
        for x in pytree.tree_leaves(a):
            yield from proxies_in(x)


def _tuple(tracer: TracerBase, a: tuple[Any, ...]) -> Argument:
    parts = _parts(tracer, a)
    kind = type(a)
    if hasattr(kind, "_fields"):
        return kind(*parts)
    return kind(parts)


def _list(tracer: TracerBase, a: list[Any]) -> Argument:
    return _parts(tracer, a)


def _parts(tracer: TracerBase, a: Sequence[Any]) -> list[Argument]:
    if tracer._has_own_steps:
        return [tracer.create_arg(x) for x in a]
    parts: list[Argument] = []
    for x in a:
        if type(x) in ATOMS:
            parts.append(x)
        else:
            parts.append(
                node_of(tracer, x) if isinstance(x, Traced) else tracer.create_arg(x)
            )
    return parts


def _dict(tracer: TracerBase, a: dict[Any, Any]) -> Argument:
    return {
        key if isinstance(key, str) else _key(tracer, key): tracer.create_arg(value)
        for key, value in a.items()
    }


def _key(tracer: TracerBase, key: Any) -> Argument:
    lowered = tracer.create_arg(key)

    def refuse(_node: Any) -> NoReturn:
        raise errors.DictKeyError(
            "Keys for dictionaries used as an argument cannot contain a Node, which"
            f" {lowered} is, or holds",
            frames=tracer._here(sys._getframe(1)),
        )

    map_references(lowered, refuse)
    return lowered


def _slice(tracer: TracerBase, a: slice) -> Argument:
    return slice(*_parts(tracer, (a.start, a.stop, a.step)))


def _range(tracer: TracerBase, a: range) -> Argument:
    return range(*[tracer.create_arg(x) for x in (a.start, a.stop, a.step)])


def _dataclass(tracer: TracerBase, a: object) -> Argument:
    parts = {
        field.name: tracer.create_arg(getattr(a, field.name))
        for field in dataclasses.fields(cast("Any", a))
    }
    return tracer.create_node("call_function", type(a), (), parts)


def _itself(_tracer: TracerBase, a: Any) -> Argument:
    return a


_Rule = Callable[["TracerBase", Any], Argument]

_BY_TYPE: dict[type, _Rule] = {
    tuple: _tuple,
    list: _list,
    dict: _dict,
    slice: _slice,
    immutable_list: _list,
    immutable_dict: _dict,
    torch.Tensor: _itself,
    OpOverload: _itself,
    HigherOrderOperator: _itself,
}

_BY_BASE: tuple[tuple[type | tuple[type, ...], _Rule], ...] = (
    (tuple, _tuple),
    (list, _list),
    (dict, _dict),
    (slice, _slice),
    (range, _range),
    ((OpOverload, HigherOrderOperator), _itself),
)

_PLAIN = (*(ATOMS), torch.Tensor, enum.Enum)
