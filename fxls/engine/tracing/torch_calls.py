"""What a call that torch reports to a proxy is recorded as."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch

from fxls.engine import errors
from fxls.engine.ir.names import target_name
from fxls.engine.origins.resolve import RawOrigin
from fxls.engine.torch_private import HigherOrderOperator, ScriptMethod, pytree

__all__ = ["TorchCall", "call_of", "refuse_functions"]


class TorchCall(NamedTuple):
    """How calls of one torch function are recorded."""

    op: str
    target: Any
    name: str | None = None
    """What the node of a call_function is called; its target gives other names."""
    owner: Any = None
    """The first argument to add: the object whose method it is."""
    takes_functions: bool = False
    """Whether an argument may be a function, which tracing does not look into."""


def call_of(function: Callable[..., Any]) -> TorchCall:
    """How a call of a torch function, or of a method of a tensor, is recorded."""
    call = _known.get(function)
    if call is None:
        if len(_known) >= _MOST:
            _known.clear()
        call = _known[function] = _call(function)
    return call


def refuse_functions(
    operator: Any, args: object, kwargs: object, frames: RawOrigin | None
) -> None:
    """Raise when a higher-order operator is given a function to call."""
    for leaf in pytree.tree_leaves((args, kwargs)):
        if isinstance(leaf, _FUNCTIONS):
            raise errors.HigherOrderArgumentError(
                "Unable to symbolically trace the HigherOrderOperator"
                f" {operator._name} because it received an arbitrary callable"
                f" argument {leaf}. Use make_fx or dynamo tracing instead.",
                frames=frames,
            )


_MOST = 4096
_known: dict[Callable[..., Any], TorchCall] = {}

_FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    functools.partial,
)


def _call(function: Any) -> TorchCall:
    if isinstance(function, ScriptMethod):
        return TorchCall("call_method", function.name, owner=function.owner)
    if cast("Any", torch.overrides).is_tensor_method_or_property(function):
        return TorchCall("call_method", function.__name__)
    return TorchCall(
        "call_function",
        function,
        # As a text it loses its dunders, which it would not as that of a function.
        target_name(function.__name__),
        takes_functions=isinstance(function, HigherOrderOperator),
    )
