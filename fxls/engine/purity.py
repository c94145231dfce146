"""What a node does besides giving a value, and so which nodes are dead code."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch._ops import OpOverload, OpOverloadPacket

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.node import Node

__all__ = ["eliminate_dead_code", "has_side_effect", "is_impure", "side_effectful"]

F = TypeVar("F", bound=Callable[..., Any])

side_effectful: set[Callable[..., Any]] = {
    cast("Any", torch)._assert,
    cast("Any", torch)._assert_async,
    operator.setitem,
}
"""Functions that are called for what they do. Extended by `has_side_effect`."""


def has_side_effect(fn: F) -> F:
    """Declare that calls of a function are never dead code; returns the function."""
    side_effectful.add(fn)
    return fn


def is_impure(node: Node, *, impure_random: bool = True) -> bool:
    """Whether erasing the node would change what the graph does."""
    op = node._op
    if op == "placeholder" or op == "output":
        return True
    if op == "call_function":
        target: Any = node._target
        if target in side_effectful:
            return True
        known = _mutates.get(id(target))
        if known is None or known[0] is not target:
            known = _mutates[id(target)] = (target, *_effects(target))
        if known[1]:
            return True
        return impure_random and known[2]
    if op == "call_method":
        # An in-place method ends in one underscore.
        return False
    if op == "call_module":
        module = node.graph.owning_module
        if module is None:
            raise AssertionError(
                f"whether the call of {node._target!r} does anything besides giving a"
                " value depends on the submodule, and the graph has no owning module"
            )
        submodule = module.get_submodule(str(node._target))
        return bool(getattr(submodule, "_is_impure", False))
    return False


def eliminate_dead_code(
    graph: Graph, is_impure_node: Callable[[Node], bool] | None = None
) -> bool:
    """Erase what nobody uses and does nothing else, last node first."""
    graph.lint()
    keeps = is_impure if is_impure_node is None else is_impure_node
    changed = False
    for node in reversed(graph.nodes):
        if not node._users and not keeps(node):
            graph.erase_node(node)
            changed = True
    return changed


_mutates: dict[int, tuple[Any, bool, bool]] = {}
"""Per target: whether its schema changes an argument, and whether it draws numbers."""


def _effects(target: Any) -> tuple[bool, bool]:
    packet: Any = target
    if isinstance(target, OpOverloadPacket) and "default" in target.overloads():
        target = packet.default
    if isinstance(target, OpOverload):
        schema = target._schema
        return schema.is_mutable, torch.Tag.nondeterministic_seeded in target.tags
    return False, target in _RANDOM


_RANDOM = frozenset(
    {torch.rand, torch.randn, torch.randint, torch.randperm, torch.rand_like}
    | {torch.randn_like, torch.randint_like, torch.normal, torch.poisson}
    | {torch.bernoulli, torch.multinomial}
)
