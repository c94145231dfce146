"""What stands in the arguments of a node: walking it, mapping it, making it immutable.

An argument is an atom, a node, or a tuple, list, dict or slice of arguments. Inside a
node, lists and dicts are immutable, so an argument can be shared and compared by
identity: a map that changes nothing returns the object that it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias, cast

from fxls.engine.immutable_collections import immutable_dict, immutable_list

__all__ = [
    "ATOMS",
    "EMPTY_KWARGS",
    "LEAVES",
    "Argument",
    "Arguments",
    "Keywords",
    "Reference",
    "freeze",
    "map_aggregate",
    "map_references",
    "parts",
    "references",
]

Argument: TypeAlias = Any
"""tuple | list | dict | slice of arguments, a Node, or any atom."""

Arguments: TypeAlias = tuple[Argument, ...]
"""The positional arguments of a node."""

Keywords: TypeAlias = Mapping[str, Argument]
"""The keyword arguments of a node."""

EMPTY_KWARGS: immutable_dict[str, Argument] = immutable_dict()
"""The one empty kwargs: most nodes have none, and a dict each would cost 64 bytes."""

ATOMS = frozenset({int, float, str, bool, type(None), complex, bytes, type(...)})
"""Exact types that hold no node: asking for them first spares the search."""

LEAVES: set[type] = {*ATOMS}
"""Those, and every class of nodes: a set asks for the types of thousands of arguments in
half of the time that a loop takes."""


class Reference:
    """What stands in an argument for the value of a node: the base of `Node`."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        LEAVES.add(cls)


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Argument:
    """`fn` applied to every leaf of an argument; containers become immutable.

    Named tuples stay what they are. `fn` sees nodes and atoms alike.
    """
    kind: Any = type(a)  # pyright: ignore[reportUnknownVariableType]  # any class
    if kind is tuple:
        return tuple([map_aggregate(x, fn) for x in a])
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in cast("tuple[Any, ...]", a)]
        return kind(*items) if hasattr(kind, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in cast("list[Any]", a)])
    if isinstance(a, dict):
        old = cast("dict[Any, Any]", a)
        return immutable_dict([(k, map_aggregate(v, fn)) for k, v in old.items()])
    if kind is slice:
        return slice(
            map_aggregate(a.start, fn),
            map_aggregate(a.stop, fn),
            map_aggregate(a.step, fn),
        )
    return fn(a)


def map_references(a: Argument, fn: Callable[[Any], Any]) -> Argument:
    """`fn` applied to every node in an argument; all else stays."""
    given: Any = a  # each `cast` is a call
    if type(a) is tuple:  # the usual case: a flat tuple of nodes and atoms
        mapped: list[Any] = []
        # For so few elements a loop takes two thirds of a comprehension's time.
        for x in given:
            if type(x) in ATOMS:
                mapped.append(x)
            elif isinstance(x, Reference):
                mapped.append(fn(x))
            else:
                mapped.append(map_references(x, fn))
        return tuple(mapped)
    if isinstance(a, Reference):
        return fn(a)
    if a is EMPTY_KWARGS or type(a) in ATOMS:
        return a
    if type(a) is immutable_list:
        return immutable_list(
            [
                fn(x) if isinstance(x, Reference) else map_references(x, fn)
                for x in given
            ]
        )
    if type(a) is immutable_dict:
        return immutable_dict({k: map_references(x, fn) for k, x in given.items()})
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Reference) else x)


def freeze(a: Argument) -> Argument:
    """The argument with immutable containers; itself when it had no others."""
    kind: Any = type(a)  # pyright: ignore[reportUnknownVariableType]  # any class
    if kind in LEAVES:
        return a
    if kind is tuple:
        if LEAVES.issuperset(map(type, a)):
            return a
        return tuple([freeze(x) for x in a])
    if (kind is list or kind is immutable_list) and LEAVES.issuperset(map(type, a)):
        return a if kind is immutable_list else immutable_list(a)
    return map_aggregate(a, _same)


def parts(a: Argument) -> Collection[Argument]:
    """What an argument holds directly; nothing when it is no container."""
    given: Any = a
    if isinstance(a, _SEQUENCES):
        return given
    if isinstance(a, dict):
        return given.values()
    return (a.start, a.stop, a.step) if type(a) is slice else ()


def references(args: Sequence[Argument], kwargs: Mapping[str, Argument]) -> list[Any]:
    """The nodes in args and kwargs, each once, in the order they stand there."""
    found: dict[Any, None] = {}
    for a in args:
        if type(a) in ATOMS:
            continue
        if isinstance(a, Reference):
            found[a] = None
        else:
            _collect(a, found)
    if kwargs:
        for a in kwargs.values():
            _collect(a, found)
    return list(found)


def _collect(a: Argument, found: dict[Any, None]) -> None:
    if type(a) in ATOMS:
        return
    given: Any = a
    if isinstance(a, Reference):
        found[a] = None
    elif isinstance(a, _SEQUENCES):
        for x in given:
            if isinstance(x, Reference):  # spares a call for each element
                found[x] = None
            elif type(x) not in ATOMS:
                _collect(x, found)
    elif isinstance(a, dict):
        for x in given.values():
            _collect(x, found)
    elif type(a) is slice:
        _collect(a.start, found)
        _collect(a.stop, found)
        _collect(a.step, found)


_SEQUENCES = (tuple, list)
"""Asking for a tuple of classes takes a third of asking for their union."""


def _same(a: Any) -> Any:
    return a
