"""One spelling for calls that mean the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, cast

import torch

from fxls.engine.experimental.schema_type_annotation import AnnotateTypesWithSchema
from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Transformer
from fxls.engine.ir.arguments import map_aggregate
from fxls.engine.ir.node import Node
from fxls.engine.operator_schemas import (
    create_type_hint,
    normalize_function,
    normalize_module,
)
from fxls.engine.tracing.proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]

_operator: Any = operator


class NormalizeArgs(Transformer):
    """Writes the arguments of calls as the signatures prescribe, with the defaults.

    - By name, or in the place where they stood unless `normalize_to_only_use_kwargs`.
    - What has no signature, or one with ``*args``, stays as it is.
    - ``meta["type"]`` of a node, where there is one, chooses between overloads.
    - `node_map` leads from each new value to the node it stands for.
    """

    def __init__(
        self,
        module: GraphModule,
        normalize_to_only_use_kwargs: bool = True,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        if n.op == "call_function":
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            result = self.call_function(n.target, args, kwargs, *_types(n, kwargs))
        else:
            result = super().run_node(n)
        if n.op != "output":
            self.node_map[result] = n
            result.node.meta = n.meta
            result.node.type = n.type
            result.node._frames = n._frames
        return result

    def call_function(
        self,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
    ) -> Any:
        """A call with normalized arguments; types choose between overloads."""
        only_kwargs = self.normalize_to_only_use_kwargs
        normalized = normalize_function(
            target, args, kwargs, arg_types, kwarg_types, only_kwargs
        )
        if normalized is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, *normalized)

    def call_module(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        normalized = normalize_module(
            self.module, target, args, kwargs, self.normalize_to_only_use_kwargs
        )
        return super().call_module(target, *(normalized or (args, kwargs)))


def _types(n: Node, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The types of a node's arguments, as far as they are known."""

    def type_of(a: Any) -> Any:
        return n.meta.get("type") if isinstance(a, Node) else cast("Any", type(a))

    arg_types: Any = map_aggregate(n.args, type_of)
    return (
        tuple([create_type_hint(one) for one in arg_types]),
        {key: type_of(value) for key, value in kwargs.items()},
    )


class NormalizeOperators(AnnotateTypesWithSchema):
    """Calls functions of `torch` that have an operator by the operator.

    Only where they are called with two positional arguments.
    """

    binary_magic_method_remap: ClassVar[
        dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]
    ] = {
        torch.add: operator.add,
        torch.div: _operator.truediv,
        torch.eq: operator.eq,
        torch.floor_divide: _operator.floordiv,
        torch.ge: operator.ge,
        torch.gt: operator.gt,
        torch.le: operator.le,
        torch.lt: operator.lt,
        torch.mul: operator.mul,
        torch.ne: operator.ne,
        torch.remainder: operator.mod,
        torch.sub: operator.sub,
    }

    def call_function(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        replacement = self.binary_magic_method_remap.get(target)
        if replacement is not None and len(args) == 2 and not kwargs:
            target = replacement
        return super().call_function(target, args, kwargs)
