"""Common subexpressions: what is computed twice from the same values, computed once."""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection
from typing import Any, cast

import torch

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.arguments import map_references
from fxls.engine.ir.node import Node
from fxls.engine.origins import resolve as origin
from fxls.engine.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops", "inplace_ops", "rand_ops"]

_aten: Any = torch.ops.aten

rand_ops: set[Any] = {
    getattr(_aten, name)
    for name in (
        "_fused_dropout",
        "_standard_gamma",
        "bernoulli",
        "binomial",
        "dropout",
        "multinomial",
        "native_dropout",
        "normal",
        "poisson",
        "rand",
        "rand_like",
        "randint",
        "randn",
        "randperm",
        "rrelu",
    )
}
"""Operators that give another value every time."""

inplace_ops: set[Any] = {
    getattr(_aten, f"{name}_")
    for name in ("add", "sub", "mul", "div", "pow", "lerp", "relu", "sigmoid", "tanh")
}
"""Operators that are called for what they do to their first argument."""


def get_CSE_banned_ops() -> set[Any]:  # noqa: N802 - FX's name
    """The operators of aten that must stay even where they are called twice alike."""
    return rand_ops | inplace_ops


class CSEPass(PassBase):
    """Computes once what a graph computes several times from the same values.

    - Calls of what is in `banned_ops` stay as they are, and so does whatever is impure or
      draws random numbers; nothing computed before something was changed in place is
      used for the same call behind that.
    - Submodules and methods are taken to be functions of their arguments.
    - The graph that is given stays; a changed one is that of a new module. The node that
      is left has the origins of all those it stands for.
    """

    def __init__(self, banned_ops: Collection[Any] | None = None) -> None:
        super().__init__()
        self.banned_ops: Collection[Any] = set() if banned_ops is None else banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        """The module with a graph without common subexpressions; itself when it has none."""
        graph = graph_module.graph
        new = Graph(tracer_cls=graph._tracer_cls)
        new.set_codegen(copy.deepcopy(graph._codegen))
        copies: dict[Node, Node] = {}
        computed: dict[Any, Node] = {}
        changes = 0
        for node in graph.nodes:
            key = None
            if _changes_a_value(node):
                changes += 1
            elif node.op not in _KEPT and not self._is_banned(node):
                key = (changes, node.op, node.target, *_keys(node, copies))
                known = computed.get(key)
                if known is not None:
                    copies[node] = known
                    known._frames = origin.merge((known._frames, node._frames))
                    continue
            copies[node] = kept = new.node_copy(node, copies.__getitem__)
            if key is not None:
                computed[key] = kept
        if len(new.nodes) == len(graph.nodes):
            return PassResult(graph_module, modified=False)
        return PassResult(GraphModule(graph_module, new), modified=True)

    def _is_banned(self, node: Node) -> bool:
        target = getattr(node.target, "overloadpacket", node.target)
        return target in self.banned_ops or node.is_impure()


_KEPT = frozenset({"placeholder", "get_attr", "output"})

_IN_PLACE = frozenset(
    getattr(operator, name)
    for name in ("setitem", "delitem", *(n for n in dir(operator) if n[0] == "i"))
    if name not in ("index", "indexOf", "inv", "invert", "is_", "is_not", "itemgetter")
)


def _changes_a_value(node: Node) -> bool:
    """Whether a call may change a value that was there before."""
    target = node.target
    if node.op == "call_method":
        name = cast("str", target)
        return name.endswith("_") and not name.endswith("__")
    if node.op != "call_function":
        return False
    if target in _IN_PLACE or target in inplace_ops:
        return True
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.is_mutable


def _keys(node: Node, copies: dict[Node, Node]) -> tuple[Any, Any]:
    """What args and kwargs are compared by: equal only if their types are, too."""
    return (
        _key(map_references(node.args, copies.__getitem__)),
        _key(map_references(node.kwargs, copies.__getitem__)),
    )


def _key(a: Any) -> Any:
    kind = cast("type[Any]", type(a))
    if isinstance(a, tuple | list):
        return (kind, *map(_key, cast("list[Any]", a)))
    if isinstance(a, dict):
        items = cast("dict[Any, Any]", a).items()
        return (kind, *[(key, _key(value)) for key, value in items])
    if isinstance(a, slice):
        ends = cast("slice[Any, Any, Any]", a)
        return (kind, _key(ends.start), _key(ends.stop), _key(ends.step))
    if isinstance(a, float):
        return (kind, repr(a))  # -0.0 equals 0.0, and nan does not equal itself
    return (kind, _Same(a)) if kind.__hash__ is None else (kind, a)


class _Same:
    """A value without a hash: compared by identity, kept alive by the key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
