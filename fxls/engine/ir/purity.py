"""What a node does besides giving a value, and so which nodes are dead code."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import torch

from fxls.engine import torch_private
from fxls.engine.torch_private import (
    FORWARD_AD,
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    assert_async,
    assert_true,
    call_torchbind,
    draws_count,
    enter_autocast,
    exit_autocast,
    has_effects,
    set_grad_enabled,
)

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.ir.node import Node

__all__ = ["eliminate_dead_code", "has_side_effect", "is_impure", "side_effectful"]

F = TypeVar("F", bound=Callable[..., Any])

side_effectful: set[Callable[..., Any]] = {
    assert_true,
    assert_async,
    set_grad_enabled,
    enter_autocast,
    exit_autocast,
    *FORWARD_AD,
    call_torchbind,
    operator.setitem,
}
"""Functions that are called for what they do. Extended by `has_side_effect`."""

_EFFECTFUL_OPERATORS = frozenset(
    {
        "aten::_assert_async.msg",
        "aten::_assert_scalar",
        "aten::_assert_tensor_metadata",
        "aten::sym_constrain_range",
        "aten::sym_constrain_range_for_size",
        "inductor::accumulate_grad_",
        "inductor::resize_storage_bytes_",
        "prims::_sink_tokens",
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "profiler::_record_function_exit._RecordFunction",
    }
)
"""Operators of which no schema says that they do anything besides giving a value. By
name, because looking up an operator makes it, and no import should make a dozen."""


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
        known = _effects_of.get(id(target))
        if known is None or known.target is not target:
            known = _effects_of[id(target)] = _effects(target)
        if known.always or (impure_random and known.draws):
            return True
        # Asked each time: a program may register an effect at any moment.
        operator = known.operator
        if operator is not None and has_effects(operator):
            return True
        return torch_private.is_impure(
            target, node._args, node._kwargs, impure_random=impure_random
        )
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
    """Erase what nobody uses and does nothing else, last node first.

    Those of the graph modules that the graph reads as well, by the usual question.
    """
    graph.lint()
    impure_random = is_impure_node is not None or draws_count()
    changed = False
    for node in reversed(graph.nodes):
        if is_impure_node is not None:
            # Asked of every node, also of one that has users, as torch.fx asks.
            is_dead = not is_impure_node(node) and not node._users
        else:
            is_dead = not node._users and not is_impure(
                node, impure_random=impure_random
            )
        if is_dead:
            graph.erase_node(node)
            changed = True
    for module in _modules_read(graph):
        if module.graph.eliminate_dead_code():
            changed = True
        module.recompile()
    return changed


def _modules_read(graph: Graph) -> list[Any]:
    """The submodules with a graph that nodes read, as the bodies of a `cond`."""
    owner = graph.owning_module
    if owner is None:
        return []
    found = [
        (name, child) for name, child in owner._modules.items() if child is not None
    ]
    found = [(name, child) for name, child in found if hasattr(child, "_graph")]
    if not found:
        return []
    read = {node._target for node in graph.find_nodes(op="get_attr", sort=False)}
    return [child for name, child in found if name in read]


class _Effects(NamedTuple):
    """What calls of one target do besides giving a value, as far as that never changes."""

    target: Any
    always: bool = False
    draws: bool = False
    """Whether they draw random numbers."""
    operator: OpOverload | HigherOrderOperator | None = None
    """For which operator torch knows more."""


_effects_of: dict[int, _Effects] = {}


def _effects(target: Any) -> _Effects:
    operator: Any = target
    if isinstance(target, OpOverloadPacket):
        if target._qualified_op_name in _EFFECTFUL_OPERATORS:
            return _Effects(target, always=True)
        if "default" in target.overloads():
            operator = cast("Any", target).default
    if isinstance(operator, OpOverload):
        does = operator._schema.is_mutable or operator.name() in _EFFECTFUL_OPERATORS
        draws = torch.Tag.nondeterministic_seeded in operator.tags
        return _Effects(target, does, draws, operator)
    if isinstance(operator, HigherOrderOperator):
        return _Effects(target, operator=operator)
    return _Effects(target, always=target in _RANDOM)


_RANDOM = frozenset(
    {torch.rand, torch.randn, torch.randint, torch.randperm, torch.rand_like}
    | {torch.randn_like, torch.randint_like, torch.normal, torch.poisson}
    | {torch.bernoulli, torch.multinomial}
)
