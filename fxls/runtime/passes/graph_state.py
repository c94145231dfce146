"""What a graph is at one moment, to be compared with what it is later.

It is for graphs of `torch.fx` and of the engine. The hooks that both have for nodes do
not see other arguments, other targets and another order, so the graphs are compared.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import torch

from fxls.attempt import attempt
from fxls.runtime.listings.quiet_reading import attribute_at
from fxls.runtime.listings.short_repr import written

__all__ = [
    "GraphState",
    "HeldGraph",
    "Row",
    "inputs_of",
    "is_same",
    "is_same_graph",
    "nodes_in",
]

_LONGEST = 1 << 16
"""So much is compared of how an object writes itself that is none of Python's own."""
_MOST_NUMBERS = 1 << 20
"""So many numbers are compared of a submodule that may be a copy."""

_OF_VALUES = ("val", "example_value", "tensor_meta")
"""What torch notes of the value of a node."""


class Row(NamedTuple):
    """What a node is."""

    node: Any
    name: str
    opcode: str
    target: Any
    args: Any
    kwargs: Any
    type: Any
    scope: Any
    """Its module stack: long listings have the path in it above each section."""
    held: Callable[[], Any]
    """What the module has at the target, while it lives."""


class HeldGraph:
    """What a module had at the target of a node, where that was a graph as well: it may be
    changed where it is.
    """

    def __init__(self, state: GraphState, remade: Callable[[GraphState], Any]) -> None:
        self.state = state
        self._remade = remade
        self._made: Any = None

    def __call__(self) -> Any:
        """A module with the graph as it was, made when somebody asks first."""
        if self._made is None:
            self._made = self._remade(self.state)
        return self._made


class GraphState:
    """The nodes of a graph module, in order, as they are when this is made.

    Arguments are immutable, so a row costs a tuple. What a node notes of its value is no
    part of it: a text does not say that.
    """

    def __init__(self, module: Any, before: GraphState | None = None) -> None:
        """Nodes that are as they were `before` share their rows with that state."""
        self.module = module
        if before is None:
            self.rows: tuple[Row, ...] = tuple(map(self._row, module.graph.nodes))
        else:
            known = {row.node: row for row in before.rows}
            self.rows = tuple(
                [
                    row
                    if (row := known.get(node)) is not None and _is_kept(row, node)
                    else self._row(node)
                    for node in module.graph.nodes
                ]
            )
        self.inputs = [row.name for row in self.rows if row.opcode == "placeholder"]
        self._said: dict[Any, dict[str, Any]] = {}

    def keep_what_nodes_say(self) -> None:
        """Keep what each node notes of its value, which a later step may alter."""
        if self._said:
            return  # what it said first is what the step that made it left behind
        for row in self.rows:
            meta = row.node.meta
            self._said[row.node] = {key: meta[key] for key in _OF_VALUES if key in meta}

    def meta_of(self, node: Any) -> dict[str, Any]:
        """What a node notes, as a dictionary of its own; of its value what it noted when
        that was kept.
        """
        meta = dict(node.meta)
        if node in self._said:
            for key in _OF_VALUES:
                meta.pop(key, None)
            meta |= self._said[node]
        return meta

    def still_holds(self, module: Any) -> bool:
        """Whether a module has a graph that is the same."""
        count, rows = 0, self.rows
        for node in module.graph.nodes:
            if count == len(rows):
                return False
            row = rows[count]
            was, name, opcode, target, args, kwargs, kind, scope, held = row
            # Asked of each node around each pass, of which few change anything.
            if not (
                was is node
                and args is node.args
                and kwargs is node.kwargs
                and target is node.target
                and kind is node.type
                and held is _nothing
                and scope is node.meta.get("nn_module_stack")
                and name == node.name
                and opcode == node.op
            ) and not self._is_still(row, node, module):
                return False
            count += 1
        return count == len(rows)

    def _row(self, node: Any) -> Row:
        held = _held(self.module, node)
        return Row(
            node,
            node.name,
            node.op,
            node.target,
            node.args,
            node.kwargs,
            node.type,
            node.meta.get("nn_module_stack"),
            held,
        )

    def _is_still(self, row: Row, node: Any, module: Any) -> bool:
        if row.name != node.name or row.opcode != node.op:
            return False
        if row.node is not node:
            other = GraphState._row_of(node, module)
            return is_same(row, other, in_copy=module is not self.module)
        return (
            (row.args is node.args or is_same_argument(row.args, node.args))
            and (row.target is node.target or _is_same_target(row.target, node.target))
            and (row.kwargs is node.kwargs or is_same_argument(row.kwargs, node.kwargs))
            and (row.type is node.type or is_same_argument(row.type, node.type))
            and is_same_scope(row.scope, node.meta.get("nn_module_stack"))
            and (
                row.held is _nothing
                or (held := _held(module, node)()) is (had := row.held())
                or (module is not self.module and _is_copy(had, held))
            )
        )

    @staticmethod
    def _row_of(node: Any, module: Any) -> Row:
        state: Any = object.__new__(GraphState)
        state.module = module
        state._said = {}
        return state._row(node)


def _is_kept(row: Row, node: Any) -> bool:
    """Whether all of a node is the same object; asked in half of a row's time."""
    _, name, opcode, target, args, kwargs, kind, scope, held = row
    return (
        args is node.args
        and kwargs is node.kwargs
        and target is node.target
        and kind is node.type
        and held is _nothing
        and scope is node.meta.get("nn_module_stack")
        and name is node.name
        and opcode is node.op
    )


def inputs_of(module: Any) -> list[str]:
    """The names of what the graph of a module is given."""
    return [node.name for node in module.graph.nodes if node.op == "placeholder"]


def is_same(one: Row, other: Row, *, in_copy: bool = False) -> bool:
    """Whether two nodes are the same, wherever each stands.

    With `in_copy` the module of the later one is another one, and may be a copy.
    """
    return (
        one.name == other.name
        and one.opcode == other.opcode
        and (one.target is other.target or _is_same_target(one.target, other.target))
        and is_same_argument(one.args, other.args)
        and is_same_argument(one.kwargs, other.kwargs)
        and is_same_argument(one.type, other.type)
        and is_same_scope(one.scope, other.scope)
        and _is_same_held(one.held, other.held, in_copy=in_copy)
    )


def _is_same_held(
    one: Callable[[], Any], other: Callable[[], Any], *, in_copy: bool
) -> bool:
    if isinstance(one, HeldGraph) and isinstance(other, HeldGraph):
        return is_same_graph(one.state, other.state)
    had, held = one(), other()
    return had is held or (in_copy and _is_copy(had, held))


def is_same_graph(one: GraphState, other: GraphState) -> bool:
    """Whether two graphs have the same nodes in the same order."""
    return len(one.rows) == len(other.rows) and all(map(is_same, one.rows, other.rows))


def is_same_argument(one: Any, other: Any) -> bool:
    """Whether two arguments are written alike.

    No equality of theirs is asked for: that of a symbolic size adds a guard, and that of
    a tensor is a tensor.
    """
    if one is other:
        return True
    kind, other_kind = _kind(one), _kind(other)
    if kind is tuple and other_kind is tuple:  # most are, and _Parts take longer
        return len(one) == len(other) and all(map(is_same_argument, one, other))
    if is_node(one):
        return kind is other_kind and bool(one.name == other.name)
    parts = _parts(one)
    if parts is not None:
        others = _parts(other)
        # Tuples and dicts of the user's become those of FX, which are written alike.
        return (
            others is not None
            and (parts.kind, parts.keys) == (others.kind, others.keys)
            and all(map(is_same_argument, parts.items, others.items))
        )
    if kind is not other_kind:
        return False
    if isinstance(one, bool | int | str | bytes):
        return bool(one == other)
    return written(one, _LONGEST) == written(other, _LONGEST)


def is_same_scope(one: Any, other: Any) -> bool:
    """Whether two module stacks end in the same module."""
    return one is other or _path(one) == _path(other)


def nodes_in(argument: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every node in an argument, each with its place there."""
    if is_node(argument):
        yield (), argument
    elif (parts := _parts(argument)) is not None:
        for key, one in zip(parts.keys, parts.items, strict=True):
            for place, node in nodes_in(one):
                yield (key, *place), node


class _Parts(NamedTuple):
    kind: type
    keys: tuple[str, ...]
    items: tuple[Any, ...]


def _parts(argument: Any) -> _Parts | None:
    """What an argument is made of, if it is one that holds others."""
    held: Any = argument
    if isinstance(argument, tuple | list):
        items = tuple(held)
        kind = cast("type[Any]", type(held))
        if not hasattr(held, "_fields"):  # a named tuple is written with its name
            kind = tuple if isinstance(argument, tuple) else list
        return _Parts(kind, tuple(map(str, range(len(items)))), items)
    if isinstance(argument, dict | Mapping):  # most are dicts, which is known at once
        return _Parts(dict, tuple(map(repr, held)), tuple(held.values()))
    if isinstance(argument, slice):
        items = (held.start, held.stop, held.step)
        return _Parts(slice, ("start", "stop", "step"), items)
    return None


def is_node(value: Any) -> bool:
    """Whether an argument is a node, of whichever system."""
    # Of its class, because to ask the node itself makes the list.
    return hasattr(cast("type[Any]", type(value)), "all_input_nodes")


_kind: Callable[[Any], Any] = type


def _is_same_target(one: Any, other: Any) -> bool:
    return isinstance(one, str) and isinstance(other, str) and one == other


def _path(stack: Any) -> object:
    if not isinstance(stack, Mapping) or not stack:
        return None
    last: Any = list(cast("Any", stack).values())[-1]
    return str(cast("Any", last)[0]) if isinstance(last, tuple) and last else None


def _held(module: Any, node: Any) -> Callable[[], Any]:
    """What a module has at the target of a node, as a reference that keeps it not alive."""
    if node.op not in ("call_module", "get_attr"):
        return _nothing
    found = attribute_at(module, str(node.target))
    try:
        return weakref.ref(found)
    except TypeError:  # a number, or a string
        return lambda: found


def _is_copy(one: Any, other: Any) -> bool:
    """Whether a submodule or a tensor is what a copy of another one would be.

    Numbers are compared of small ones, where that is allowed: fake tensors have none.
    """
    if type(one) is not type(other) or written(one, _LONGEST) != written(
        other, _LONGEST
    ):
        return False
    pairs = [*zip(_tensors(one), _tensors(other), strict=False)]
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
        return False
    if sum(a.numel() for a, _ in pairs) > _MOST_NUMBERS:
        return True
    equal = attempt(lambda: all(a is b or torch.equal(a, b) for a, b in pairs))
    return equal if isinstance(equal, bool) else True


def _tensors(held: Any) -> list[Any]:
    if isinstance(held, torch.Tensor):
        return [held]
    if isinstance(held, torch.nn.Module):
        return [*held.parameters(), *held.buffers()]
    return []


def _nothing() -> None:
    return None  # as a reference to what is gone does
