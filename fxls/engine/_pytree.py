"""Flattening the nested inputs of a generated function by a specification."""

from __future__ import annotations

from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from fxls.engine.late_names import late_names
from fxls.engine.torch_private import pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

FlattenBySpec: TypeAlias = Callable[[Any, pytree.TreeSpec], list[Any]]


def tree_flatten_spec(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    """The leaves of a value that has the structure of `spec`, in order.

    Only what `spec` asks for is taken: a list will do for a tuple, and what else is in a
    dict does not matter.
    """
    return list(_leaves(tree, spec))


def register_pytree_flatten_spec(
    cls: type[Any], flatten_fn_spec: FlattenBySpec, *_exact_match: object
) -> None:
    """Say how the children of a container are found that a specification asks for."""
    _children[cls] = flatten_fn_spec


def forget(cls: type[Any]) -> None:
    """Undo `register_pytree_flatten_spec`."""
    del _children[cls]


def _leaves(tree: Any, spec: pytree.TreeSpec) -> Iterator[Any]:
    if spec.is_leaf():
        yield tree
        return
    find = _children.get(spec.type)
    if find is not None:
        found = find(tree, spec)
    elif spec.type in pytree.SUPPORTED_NODES:
        found = list(pytree.SUPPORTED_NODES[spec.type].flatten_fn(tree)[0])
    else:
        raise RuntimeError(
            f"{spec.type} is no pytree container: register it with"
            f" {pytree.__name__}.register_pytree_node"
        )
    for i, child in enumerate(found):
        yield from _leaves(child, spec.child(i))


def _by_key(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    return [tree[key] for key in spec.context]


def _by_index(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    return [tree[i] for i in range(spec.num_children)]


_children: dict[Any, FlattenBySpec] = {
    dict: _by_key,
    OrderedDict: _by_key,
    list: _by_index,
    tuple: _by_index,
    namedtuple: _by_index,
    deque: _by_index,
}
"""A traced value can be asked for what these hold; `namedtuple` stands for all of its."""

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
