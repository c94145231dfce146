"""Lists and dicts that cannot be changed in place: what args and kwargs are made of.

A node keeps the list of its users up to date, so an edit must go through the node:
changing a list that an argument holds would pass unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from fxls.engine.late_names import late_names
from fxls.engine.torch_private import pytree

__all__ = ["immutable_dict", "immutable_list"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation: it is part of the"
        " arguments of a Node, which would not notice. Assign a changed copy instead:\n"
        "    new_args = ...  # a copy of node.args with the change in it\n"
        "    node.args = new_args"
    )


class immutable_list(list[T]):  # noqa: N801 - FX's name
    """A list that refuses every change in place; hashable by its elements."""

    __slots__ = ()

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # refusing is the point

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]  # a list has None here
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[T, ...]]]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[K, V]):  # noqa: N801 - FX's name
    """A dict that refuses every change in place; hashable by its items."""

    __slots__ = ()

    clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]  # refusing is the point
    __delitem__ = __ior__ = __setitem__ = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # refusing is the point

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]  # a dict has None here
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[tuple[tuple[K, V], ...]]]:
        return immutable_dict, (tuple(self.items()),)


def _register() -> None:
    """Make both into pytree containers that come back as themselves."""

    def list_children(x: Any) -> tuple[list[Any], None]:
        return list(x), None

    def dict_children(x: Any) -> tuple[list[Any], list[Any]]:
        return list(x.values()), list(x)

    def list_from(children: Iterable[Any], _context: Any) -> immutable_list[Any]:
        return immutable_list(children)

    def dict_from(children: Iterable[Any], keys: Any) -> immutable_dict[Any, Any]:
        return immutable_dict(zip(keys, children, strict=True))

    def list_keyed(x: Any) -> tuple[list[tuple[Any, Any]], None]:
        return [(pytree.SequenceKey(i), v) for i, v in enumerate(x)], None

    def dict_keyed(x: Any) -> tuple[list[tuple[Any, Any]], list[Any]]:
        return [(pytree.MappingKey(k), v) for k, v in x.items()], list(x)

    pytree.register_pytree_node(
        immutable_list,
        list_children,
        list_from,
        serialized_type_name="fxls.engine.immutable_collections.immutable_list",
        flatten_with_keys_fn=list_keyed,
    )
    pytree.register_pytree_node(
        immutable_dict,
        dict_children,
        dict_from,
        serialized_type_name="fxls.engine.immutable_collections.immutable_dict",
        flatten_with_keys_fn=dict_keyed,
    )


_register()

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
