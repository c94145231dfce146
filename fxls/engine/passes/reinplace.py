"""Functional calls become in-place ones, where nobody can see the difference.

A value may be overwritten when it is no input of the program and neither it nor a view
of it is used behind the call. What shares memory is found by a run on fake tensors.

Functionalization writes a change of a view as two calls, of which the second,
``diagonal_scatter`` for instance, builds a new base with the changed part in it. Where
the base may be overwritten, that call is one too many and goes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import torch

from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Interpreter
from fxls.engine.ir.node import Node
from fxls.engine.passes.fake_tensor_prop import faked_state
from fxls.engine.torch_private import (
    FakeTensorMode,
    OpOverload,
    internal_overlap,
    pytree,
)

__all__ = ["reinplace"]

_aten: Any = torch.ops.aten

_UNDONE_VIEWS: dict[Any, Any] = {
    _aten.as_strided_scatter.default: _aten.as_strided.default,
    _aten.diagonal_scatter.default: _aten.diagonal.default,
    _aten.select_scatter.default: _aten.select.int,
    _aten.slice_scatter.default: _aten.slice.Tensor,
}
"""What puts a changed view back into its base, and the view that it takes for changed."""


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Make calls of a functional graph of aten operators in-place; returns `gm`.

    `sample_args` are inputs as the graph will get them: which of them share memory
    decides what may be overwritten. Inputs, parameters and buffers never are.
    """
    values = _Values(gm)
    values.find(*sample_args)
    obsolete: dict[Node, None] = {}
    for node in list(gm.graph.nodes):
        if not values.may_be_overwritten_by(node):
            continue
        base = node.args[0]
        later = values.later_uses(base, node)
        undone = [one for one in later if values.only_puts_back(one, base)]
        if len(undone) < len(later):
            continue
        if node.target in _UNDONE_VIEWS and node not in obsolete:
            _write_into_view(node)
            obsolete[node] = None
        else:
            variant = _in_place_variant(node.target)
            if variant is None:
                continue
            node.target = variant
        values.share_memory(base, node)
        obsolete.update(dict.fromkeys(undone))
        for old in (node, *undone):
            values.use_base_instead(old, behind=node)
    for node in sorted(obsolete, reverse=True):
        gm.graph.erase_node(node)
    gm.recompile()
    return gm


class _Values(Interpreter):
    """A fake value for each node, and which nodes share memory."""

    def __init__(self, gm: GraphModule) -> None:
        super().__init__(gm, garbage_collect_values=False)
        self._place = {node: i for i, node in enumerate(gm.graph.nodes)}
        self._base: dict[Node, Node] = {}
        """Per view, what it is a view of."""
        self._sharing: dict[int, set[Node]] = {}
        """Per storage, the nodes that use it; one set for storages made one."""
        self._inputs: set[int] = set()

    def find(self, *sample_args: Any) -> None:
        """Run the graph on fakes of these inputs."""
        mode: Any = FakeTensorMode()
        fakes = [
            mode.from_tensor(a) if isinstance(a, torch.Tensor) else a
            for a in sample_args
        ]
        with faked_state(self.module, mode), mode:
            self.run(*fakes)

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        storages = set(_storages(value))
        for storage in storages:
            self._sharing.setdefault(storage, set()).add(n)
        if n.op == "placeholder" or n.op == "get_attr":
            self._inputs |= storages
        elif n.op == "call_function" and n.args and isinstance(n.args[0], Node):
            source = n.args[0]
            if _is_view(n.target):
                self._base[n] = source
            elif n.target is _getitem and _is_view(source.target):
                self._base[n] = self._base[source]
        return value

    def may_be_overwritten_by(self, node: Node) -> bool:
        """Whether the result could be where the first argument is.

        That says nothing yet of who else uses that one.
        """
        if not _is_operator(node.target) or not node.args:
            return False
        base = node.args[0]
        if not isinstance(base, Node) or not isinstance(self.env[base], torch.Tensor):
            return False
        if node.target is not _aten.resize.default and not self._fits(base, node):
            return False
        if self._storage(base) in self._inputs:
            return False
        # No kernel promises to be right when its output is an input twice.
        return pytree.tree_leaves((node.args, node.kwargs)).count(base) == 1

    def later_uses(self, value: Node, behind: Node) -> list[Node]:
        """Who uses a value, or what shares its memory, behind a node; in order.

        A view is no use: what it is used for is.
        """
        sharing = self._sharing[self._storage(value)]
        place = self._place[behind]
        later = {
            user
            for one in sharing
            for user in one.users
            if self._place.get(user, -1) > place
            and not (user in sharing and _passes_on(user))
        }
        return sorted(later)

    def only_puts_back(self, node: Node, value: Node) -> bool:
        """Whether a node puts a changed view back to where the view is from already."""
        view = _UNDONE_VIEWS.get(node.target)
        if view is None:
            return False
        target = self.env[node.args[0]]
        for one in self._sharing[self._storage(value)]:
            base = self._base.get(one)
            if base is None or not isinstance(self.env[one], torch.Tensor):
                continue
            if not _same_layout(self.env[base], target):
                continue
            try:
                again = view(self.env[base], *node.args[2:], **node.kwargs)
            except (RuntimeError, IndexError):
                continue  # the arguments are those of a view of something else
            if _same_layout(again, self.env[one]):
                return True
        return False

    def share_memory(self, one: Node, other: Node) -> None:
        """Note that two values have become one."""
        storages = {*_storages(self.env[one]), *_storages(self.env[other])}
        together: set[Node] = set()
        for storage in storages:
            together |= self._sharing[storage]
        for node in together:
            for storage in _storages(self.env[node]):
                self._sharing[storage] = together

    def use_base_instead(self, old: Node, behind: Node) -> None:
        """Let later nodes use what a node overwrites in place of its result."""
        base = old.args[0]
        place = self._place[behind]
        memory = set(_storages(self.env[old]))
        for user in list(old.users):
            if self._place.get(user, -1) > place:
                user.replace_input_with(old, base)
                if len(memory) == 1 and set(_storages(self.env[user])) == memory:
                    self.share_memory(base, user)

    def _fits(self, base: Node, node: Node) -> bool:
        given = pytree.tree_leaves(self.env[base])
        made = pytree.tree_leaves(self.env[node])
        if len(given) != len(made):
            return True
        return all(
            a.numel() == b.numel() and a.dtype == b.dtype and internal_overlap(a) != 1
            for a, b in zip(given, made, strict=True)
        )

    def _storage(self, node: Node) -> int:
        return next(_storages(self.env[node]))


_getitem: Any = operator.getitem


def _storages(value: Any) -> Iterator[int]:
    """The storages of the tensors in a value. They live as long as the values do."""
    for one in pytree.tree_leaves(value):
        if isinstance(one, torch.Tensor):
            yield one.untyped_storage()._cdata


def _is_operator(target: Any) -> bool:
    return isinstance(target, OpOverload)


def _is_view(target: Any) -> bool:
    """Whether an operator gives views of its first argument."""
    if not _is_operator(target):
        return False
    first = _arguments(target)[:1]
    return any(a.alias_info is not None and not a.alias_info.is_write for a in first)


def _passes_on(node: Node) -> bool:
    return _is_operator(node.target) or node.target is _getitem


def _same_layout(a: Any, b: Any) -> bool:
    return (a.size(), a.stride(), a.storage_offset()) == (
        *(b.size(), b.stride()),
        b.storage_offset(),
    )


def _arguments(target: Any) -> Any:
    return target._schema.arguments


def _in_place_variant(target: Any) -> Any:
    """The operator that does the same to its first argument; None when there is none."""
    if _is_view(target):
        return None  # those change what a tensor is, not what is in it
    space = getattr(torch.ops, target.namespace)
    packet: Any = getattr(space, f"{target.overloadpacket.__name__}_", None)
    wanted = [str(a.type) for a in _arguments(target)]
    for name in packet.overloads() if packet is not None else ():
        variant = getattr(packet, name)
        first, *rest = _arguments(variant)
        if (
            [str(a.type) for a in (first, *rest)] == wanted
            and first.alias_info is not None
            and first.alias_info.is_write
            and all(a.alias_info is None for a in rest)
        ):
            return variant
    return None


def _write_into_view(node: Node) -> None:
    """Copy the changed part into its place, in front of the node that would put it back."""
    base, part, *rest = node.args
    graph = node.graph
    with graph.inserting_before(node):
        view = graph.call_function(
            _UNDONE_VIEWS[node.target], (base, *rest), dict(node.kwargs)
        )
        copied = graph.call_function(_aten.copy_.default, (view, part))
    view._frames = copied._frames = node._frames
