"""Whether a graph with more inputs computes what one does in which they are constants."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

from fxls.engine import Node
from fxls.worker.catching import UserRaised, caught
from fxls.worker.constants import Fixed

__all__ = ["is_same"]


def is_same(free: Fixed, fixed: Fixed) -> bool:
    """Whether both traces recorded the same, for the constants of `fixed`.

    What `free` has more are nodes that compute with these constants alone.
    """
    nodes = _Images(fixed)
    rest = iter(list(fixed.graph.nodes)[fixed.count_of_inputs :])
    for n, node in enumerate(free.graph.nodes):
        if node.op == "placeholder":
            nodes.add_input(node)
            continue
        if nodes.fold(node) or n < free.count_of_inputs:
            continue
        other = next(rest, None)
        if other is None or not nodes.match(node, other):
            return False
    return next(rest, None) is None


class _Images:
    """What the nodes of one graph are in the other: a node, or a constant."""

    def __init__(self, fixed: Fixed) -> None:
        self._values = fixed.values
        self._inputs = {
            node.target: node for node in fixed.graph.find_nodes(op="placeholder")
        }
        self._known: dict[Node, object] = {}

    def add_input(self, node: Node) -> None:
        name = str(node.target).lstrip("*")
        self._known[node] = self._values.get(name, self._inputs.get(node.target))

    def fold(self, node: Node) -> bool:
        """Note the constant that a node gives; false for a node that gives none."""
        arguments = [self._image(one) for one in (*node.args, *node.kwargs.values())]
        if not node.all_input_nodes or not all(
            one in self._known for one in node.all_input_nodes
        ):
            return False
        if not _is_folded(node, arguments):
            return False
        run = _function(node)
        args = arguments[: len(node.args)]
        kwargs = dict(zip(node.kwargs, arguments[len(node.args) :], strict=True))
        value = caught(lambda: run(*args, **kwargs))
        if isinstance(value, UserRaised):
            return False
        self._known[node] = value
        return True

    def match(self, node: Node, other: Node) -> bool:
        """Whether two nodes do the same; from now on they are one."""
        self._known[node] = other
        return (
            node.op == other.op
            and node.target == other.target
            and _form(self._image(node.args)) == _form(other.args)
            and _form(self._image(node.kwargs)) == _form(other.kwargs)
            # Two branches may do the same, and one of them is taken.
            and node.origin == other.origin
        )

    def _image(self, value: object) -> object:
        if isinstance(value, Node):
            return self._known.get(value)
        if isinstance(value, tuple | list):
            parts = map(self._image, cast(list[object], value))
            return tuple(parts) if isinstance(value, tuple) else list(parts)
        if isinstance(value, dict):
            items = cast(dict[object, object], value).items()
            return {key: self._image(one) for key, one in items}
        if isinstance(value, slice):
            return slice(*map(self._image, _bounds(cast(Any, value))))
        return value


_MODULES = {"_operator", "builtins", "math"}


def _is_folded(node: Node, arguments: list[object]) -> bool:
    """Whether a node only computes with constants, as Python would while tracing."""
    if node.op == "call_method":
        looks_up = isinstance(arguments[0], dict) and node.target in _LOOKS
        return looks_up or not _has_node(arguments)
    if node.op != "call_function":
        return False
    if node.target is operator.getitem and not isinstance(arguments[0], Node):
        return not _has_node(arguments[1])
    module = getattr(node.target, "__module__", None)
    return module in _MODULES and not _has_node(arguments)


_LOOKS = {"get", "keys", "values", "items"}


def _function(node: Node) -> Callable[..., Any]:
    if node.op == "call_method":
        name = str(node.target)

        def call(value: object, *args: object, **kwargs: object) -> object:
            return getattr(value, name)(*args, **kwargs)

        return call
    return cast(Callable[..., Any], node.target)


def _has_node(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_has_node, cast(list[object], value)))
    if isinstance(value, dict):
        return any(map(_has_node, cast(dict[object, object], value).values()))
    if isinstance(value, slice):
        return any(map(_has_node, _bounds(cast(Any, value))))
    return isinstance(value, Node)


def _form(value: object) -> object:
    """What two arguments have in common that are equal; 1, 1.0 and True are not."""
    if isinstance(value, Node):
        return value
    if isinstance(value, tuple | list):
        return tuple(map(_form, cast(list[object], value)))
    if isinstance(value, dict):
        items = cast(dict[object, object], value).items()
        return dict, tuple((key, _form(one)) for key, one in items)
    if isinstance(value, slice):
        return slice, tuple(map(_form, _bounds(cast(Any, value))))
    return type(value), repr(value)


def _bounds(cut: Any) -> tuple[object, object, object]:
    return cut.start, cut.stop, cut.step
