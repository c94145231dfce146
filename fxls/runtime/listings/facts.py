"""What is known of each node of a graph, as plain facts."""

from __future__ import annotations

from typing import Any

import torch

from fxls.engine.code.statement import Globals, Writer
from fxls.engine.graph import Graph
from fxls.engine.ir.arguments import ATOMS, Argument
from fxls.engine.ir.node_text import pretty_target, type_text
from fxls.engine.ir.whole_node import whole_node
from fxls.engine.node import Node
from fxls.listing import Facts, Pieces
from fxls.runtime.listings.quiet_reading import attribute_at, stand_in
from fxls.runtime.listings.short_repr import written
from fxls.runtime.listings.tables import Tables
from fxls.runtime.listings.target_facts import Targets, passes_of
from fxls.runtime.listings.value_facts import value_of
from fxls.runtime.torch_private import schema_of

__all__ = ["FactsOfNodes"]

_LONGEST = 200
"""Characters of a submodule's repr that are kept."""

_FENCE = "\ue000"
"""A private character: `repr` escapes it, so that no written value holds one."""


class FactsOfNodes:
    """Writes the facts of one graph; `tables` collects the rows that they share."""

    def __init__(self, module: torch.nn.Module, graph: Graph) -> None:
        self.tables = Tables(module)
        self.targets = Targets()
        self.nodes = list(graph.nodes)
        self._module = module
        self._targets: dict[int, tuple[object, str, int | None]] = {}
        """What a target of a call_function is called, and its row; by its id, with it, so
        that its id stays its own."""
        self._pass_names: dict[str, str] = {}
        self._ints = _Ints()
        self._index = index = {node: i for i, node in enumerate(self.nodes)}
        self._writer = Writer(
            "self", Globals(), lambda node: f"{_FENCE}{index[node]}{_FENCE}"
        )

    def of(self, node: Any, line: int) -> Facts:
        """The facts of a node whose statement is on `line`."""
        name, op, target, args, kwargs, kind, noted, held = whole_node(node)
        index, ints, pieces = self._index, self._ints, self._pieces
        users: tuple[int, ...] = ()
        if type(held) is Node:
            users = (index[held],)
        elif held is not None:
            users = tuple(map(index.__getitem__, held))
        frames, scope = node._frames, node._scope
        attribute: Any = None
        if op == "call_function":
            known = self._targets.get(id(target))
            if known is None or known[0] is not target:
                row = self.targets.row(op, target, None)
                known = (target, pretty_target(target), row)
                self._targets[id(target)] = known
            _, written_target, call = known
        else:
            if op == "call_module" or op == "get_attr":
                attribute = attribute_at(self._module, str(target))
            written_target = pretty_target(target)
            call = self.targets.row(op, target, attribute)
        # In the order of the fields: by their names it takes twelve times as long.
        return Facts(
            name,
            op,
            written_target,
            line,
            tuple(
                [
                    (index[a],)
                    if type(a) is Node
                    else ints[a]
                    if type(a) is int
                    else pieces(a)
                    for a in args
                ]
            ),
            tuple([(k, pieces(one)) for k, one in kwargs.items()]) if kwargs else (),
            users,
            None if scope is None else self.tables.scope(scope),
            None if frames is None else self.tables.frame(frames),
            value_of(noted) if noted else None,
            None if kind is None else type_text(kind),
            None if attribute is None else _detail(attribute),
            call,
            not users and _has_effect(node),
            passes_of(noted, self._pass_names) if noted else (),
            () if frames is None else self.tables.more_frames(frames),
            _width(attribute) if op == "call_module" else None,
        )

    def call_operators(self) -> bool:
        """Whether any of the nodes whose facts were made calls an operator of torch.ops."""
        called = self._targets.values()
        return any(schema_of(target) is not None for target, _, _ in called)

    def _pieces(self, arg: Argument) -> Pieces:
        """An argument as code, with the index of each node in it for the node."""
        kind: Any = type(arg)  # pyright: ignore[reportUnknownVariableType]  # any class
        if kind is Node:
            return (self._index[arg],)
        if kind in ATOMS:
            return (self._writer.argument(arg),)
        parts = self._writer.argument(arg).split(_FENCE)
        return tuple([p if i % 2 == 0 else int(p) for i, p in enumerate(parts) if p])


class _Ints(dict[int, Pieces]):
    """Whole numbers as code: the same few are in most nodes, and a call makes each."""

    def __missing__(self, number: int) -> Pieces:
        self[number] = made = (repr(number),)
        return made


def _detail(at: Any) -> str | None:
    """A submodule or attribute in a few words."""
    if isinstance(at, torch.Tensor):
        kind = "Parameter" if isinstance(at, torch.nn.Parameter) else "Tensor"
        dtype = str(at.dtype).removeprefix("torch.")
        return f"{kind} {dtype}[{', '.join(map(str, at.shape))}]"
    if isinstance(at, torch.nn.Module):
        at = stand_in(at)
    return None if at is None else written(at, _LONGEST)


def _width(at: object) -> int | None:
    """How many features or channels a layer of torch's own gives."""
    name = _WIDTHS.get(type(at))
    width = None if name is None else getattr(at, name, None)
    return width if type(width) is int else None


_WIDTHS: dict[type, str] = {
    torch.nn.Linear: "out_features",
    torch.nn.Conv1d: "out_channels",
    torch.nn.Conv2d: "out_channels",
    torch.nn.Conv3d: "out_channels",
}


def _has_effect(node: Node) -> bool:
    """Whether a node does anything besides giving a value; yes where nobody knows."""
    if node.op == "call_module" and node.graph.owning_module is None:
        return True
    return node.is_impure()
