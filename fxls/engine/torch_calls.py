"""What a call that torch reports to a proxy is recorded as."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch._ops import HigherOrderOperator
from torch.overrides import is_tensor_method_or_property
from torch.utils import _pytree as pytree

from fxls.engine import errors
from fxls.engine.names import target_name
from fxls.engine.origin import RawOrigin

__all__ = ["TorchCall", "call_of", "refuse_functions", "refuse_mutation"]


class TorchCall(NamedTuple):
    """How calls of one torch function are recorded."""

    op: str
    target: Any
    name: str | None = None
    """What the node is called; None for the name that its target gives."""
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


def refuse_mutation(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frames: RawOrigin | None
) -> None:
    """Raise when the one schema that a call can mean changes an argument."""
    fitting = [schema for schema in _schemas(target) if _fits(schema, args, kwargs)]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise errors.MutationError(
            f"Tried to trace mutable operation {fitting[0]}: a traced program is"
            " functional code, in which no operator changes its operands",
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
    if isinstance(function, torch._C.ScriptMethod):
        return TorchCall("call_method", function.name, owner=function.owner)
    if is_tensor_method_or_property(function):
        return TorchCall("call_method", function.__name__)
    # A name with dunders loses them in a node's name, which a function's would not.
    name = target_name(function.__name__)
    return TorchCall(
        "call_function",
        function,
        name if name != target_name(function) else None,
        takes_functions=isinstance(function, HigherOrderOperator),
    )


def _schemas(target: Any) -> Iterable[Any]:
    if isinstance(target, torch._ops.OpOverload):
        return (target._schema,)
    if isinstance(target, torch._ops.OpOverloadPacket):
        return tuple(getattr(target, name)._schema for name in target.overloads())
    builtin = torch.jit._builtins._find_builtin(target)
    return () if builtin is None else torch._C._jit_get_schemas_for_operator(builtin)


def _fits(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call has every argument that a schema asks for, and no other."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    given = {a.name for a in positional[: len(args)]}
    names = {a.name for a in schema.arguments}
    needed = {a.name for a in schema.arguments if not a.has_default_value()}
    return (
        len(args) <= len(positional)
        and not given & kwargs.keys()
        and kwargs.keys() <= names
        and needed <= given | kwargs.keys()
    )
