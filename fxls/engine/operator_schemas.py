"""The signatures of operators, and arguments written the one way they prescribe."""

from __future__ import annotations

import inspect
import numbers
import types
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, overload

import torch

from fxls.engine.late_names import late_names
from fxls.engine.schema_types import python_type
from fxls.engine.torch_private import (
    RESULTS_AS_TUPLE,
    OpOverload,
    OpOverloadPacket,
    boolean_dispatched,
    find_builtin,
    schemas_for_operator,
)

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

Schema = Any
"""A `torch.FunctionSchema`."""

_torch: Any = torch


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@overload
def get_signature_for_torch_op(
    op: Callable[..., Any], return_schemas: Literal[True]
) -> tuple[list[Signature] | None, list[Schema] | None]: ...


@overload
def get_signature_for_torch_op(
    op: Callable[..., Any], return_schemas: Literal[False] = ...
) -> list[Signature] | None: ...


def get_signature_for_torch_op(
    op: Callable[..., Any],
    return_schemas: bool = False,  # noqa: FBT001, FBT002 - FX's signature
) -> Any:
    """The signatures of an operator's overloads; None when it has no schema.

    With `return_schemas` a pair of the signatures and the schemas they are made from.
    """
    schemas = _schemas(op)
    signatures = None if schemas is None else [_signature(s) for s in schemas]
    return (signatures, schemas) if return_schemas else signatures


def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise RuntimeError when a call is known to change one of its arguments.

    A call that fits no overload, or several, is not known to.
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures or not schemas:
        return
    fitting = [
        schema
        for signature, schema in zip(signatures, schemas, strict=True)
        if _binds(signature, args, kwargs)
    ]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. A graph holds functional"
            " code here: call the variant that returns a new value, without `out`"
            " and without the underscore at the end of the name"
        )


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,  # noqa: FBT001, FBT002 - FX's signature
) -> ArgsKwargsPair | None:
    """The arguments of a call by the target's signature, with defaults filled in.

    - None when the target has no signature, or one with ``*args``, ``**kwargs`` or
      parameters that are positional only.
    - Where more than one overload fits, the types of the arguments decide; without them
      RuntimeError names the overloads.
    """
    kwargs = {} if kwargs is None else kwargs
    if not _has_schemas(target):
        target = getattr(target, "_op", target)  # a wrapped operator
    only_kwargs = normalize_to_only_use_kwargs
    if not _has_schemas(target):
        signature = _python_signature(target)
        return signature and _normalized(signature, args, kwargs, only_kwargs)
    signatures = get_signature_for_torch_op(target) or []
    fitting = [s for s in signatures if _binds(s, args, kwargs)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            listed = "\n".join(map(str, fitting))
            raise RuntimeError(
                f"the call of {torch.typename(target)} is ambiguous: several overloads"
                f" take it. Give arg_types or kwarg_types to choose one of\n{listed}"
            )
        by_type = (arg_types or (), kwarg_types or {})
        fitting = [s for s in signatures if _accepts_types(s, *by_type)][:1]
    return _normalized(fitting[0], args, kwargs, only_kwargs) if fitting else None


def normalize_module(
    root: torch.nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,  # noqa: FBT001, FBT002 - FX's signature
) -> ArgsKwargsPair | None:
    """The arguments of a submodule's call by the signature of its ``forward``.

    None for a module that is not of `torch.nn`, or that has a signature as
    `normalize_function` does not take it.
    """
    try:
        submodule = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"{target!r} cannot be normalized, because the module has none: {error}"
        ) from error
    kind = type(submodule)
    if getattr(torch.nn, kind.__name__, None) is not kind:
        return None
    forward: Any = submodule.forward
    signature = inspect.signature(inspect.unwrap(forward))
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def create_type_hint(x: object) -> object:
    """The type of a list or tuple whose elements have the types in `x`.

    The element type is that one of them which all others are subclasses of, else Any.
    Anything but a list or tuple comes back as it is.
    """
    if not isinstance(x, list | tuple):
        return x
    elements = cast("Sequence[Any]", x)
    element: Any = elements[0] if elements else Any
    try:
        for other in elements:
            if not issubclass(other, element):
                element = other if issubclass(element, other) else Any
                if element is Any:
                    break
    except TypeError:  # an element is no class
        warnings.warn(f"no type hint can be made from {x}", stacklevel=2)
        return cast("object", x)
    return list[element] if isinstance(x, list) else tuple[element, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type is taken by a parameter of another.

    An int is taken where a list of them is wanted, and a dtype where an int is, as
    operators do.
    """
    if signature_type is argument_type:
        return True
    origin: Any = getattr(signature_type, "__origin__", signature_type)
    if origin is typing.Union and signature_type != argument_type:
        return any(
            type_matches(option, argument_type)
            for option in typing.get_args(signature_type)
        )
    if origin is list and origin is not signature_type:
        return _is_list_of(typing.get_args(signature_type)[0], argument_type)
    if signature_type is int and argument_type is torch.dtype:
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    if inspect.isclass(argument_type) and inspect.isclass(signature_type):
        return issubclass(argument_type, signature_type)
    return False


def _is_list_of(element: Any, argument_type: Any) -> bool:
    if argument_type is int and element is int:
        return True
    if not inspect.isclass(element):
        if isinstance(element, typing.TypeVar):
            return False
        warnings.warn(
            f"lists of parametrized types are not compared: {element}", stacklevel=3
        )
        return False
    origin = typing.get_origin(argument_type)
    contained = typing.get_args(argument_type)
    if origin is list:
        return issubclass(contained[0], element)
    return origin is tuple and all(
        part is Ellipsis or issubclass(part, element) for part in contained
    )


def _has_schemas(target: Any) -> bool:
    return isinstance(target, types.BuiltinFunctionType | OpOverload | OpOverloadPacket)


def _schemas(op: Any) -> list[Schema] | None:
    if isinstance(op, OpOverload):
        return [cast("Any", op)._schema]
    if isinstance(op, OpOverloadPacket):
        packet = cast("Any", op)
        return [getattr(packet, name)._schema for name in packet.overloads()]
    if op is torch.nonzero:
        # Its schema lacks `as_tuple`, which Python handles before the operator is called.
        return None
    name = find_builtin(op)
    return None if name is None else schemas_for_operator(name)


_signatures: dict[tuple[str, str], Signature] = {}
"""By name and overload. torch makes the schema objects anew on every look-up."""


def _signature(schema: Schema) -> Signature:
    key = (schema.name, schema.overload_name)
    known = _signatures.get(key)
    if known is None:
        known = _signatures[key] = _new_signature(schema)
    return known


def _new_signature(schema: Schema) -> Signature:
    names = ["input" if a.name == "self" else a.name for a in schema.arguments]
    # No parameter can be called `from`, so it and those before it have no name to use.
    positional_only = names.index("from") + 1 if "from" in names else 0
    parameters: list[Parameter] = []
    for i, (name, argument) in enumerate(zip(names, schema.arguments, strict=True)):
        kind = Parameter.POSITIONAL_OR_KEYWORD
        if argument.kwarg_only:
            kind = Parameter.KEYWORD_ONLY
        elif i < positional_only:
            kind = Parameter.POSITIONAL_ONLY
        parameters.append(
            _parameter(
                name,
                kind,
                argument.default_value
                if argument.has_default_value()
                else Parameter.empty,
                python_type(argument.type),
            )
        )
    returns = [python_type(one.type) for one in schema.returns]
    result: Any = tuple(returns) if len(returns) > 1 else None
    if RESULTS_AS_TUPLE and result is not None:
        result = types.GenericAlias(tuple, result)
    return Signature(
        parameters, return_annotation=returns[0] if len(returns) == 1 else result
    )


def _parameter(name: str, kind: Any, default: Any, annotation: Any) -> Parameter:
    if kind is not Parameter.POSITIONAL_ONLY:
        return Parameter(name, kind, default=default, annotation=annotation)
    # `Parameter` refuses keywords as names, but for positional ones only in 3.11.
    made = Parameter("_", kind, default=default, annotation=annotation)
    made._name = name  # pyright: ignore[reportAttributeAccessIssue]  # `from` is the schema's name
    return made


def dispatched_by_bool(target: Any) -> tuple[Any, Any] | None:
    """The two functions of `torch.nn.functional` that one bool argument chooses between.

    None for any other function.
    """
    dispatched = boolean_dispatched.get(target)
    return dispatched and (dispatched["if_true"], dispatched["if_false"])


def _python_signature(target: Any) -> Signature | None:
    """The signature of a Python function; None when a bool chooses between two."""
    options = dispatched_by_bool(target)
    if options is not None:
        target, other = options
        if _parameters(target) != _parameters(other):
            return None
    assert callable(target), f"{target!r} cannot be called, so it takes no arguments"
    return inspect.signature(inspect.unwrap(target))


def _parameters(function: Any) -> Mapping[str, Parameter]:
    return inspect.signature(function).parameters


def _binds(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _accepts_types(
    signature: Signature, arg_types: Sequence[Any], kwarg_types: dict[str, Any]
) -> bool:
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    return all(
        type_matches(signature.parameters[name].annotation, kind)
        for name, kind in bound.arguments.items()
    )


def _normalized(
    signature: Signature,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    only_kwargs: bool,  # noqa: FBT001 - handed down from FX's signature
) -> ArgsKwargsPair | None:
    parameters = signature.parameters
    plain = all(
        one.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        for one in parameters.values()
    )
    # Those that fill a tensor at random are called by position or by name, all the same.
    if not plain and list(parameters) != ["input", "from", "to", "generator"]:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    values = [(name, bound.arguments[name]) for name in parameters]
    positional = 0 if only_kwargs else len(args)
    return ArgsKwargsPair(
        tuple([value for _, value in values[:positional]]), dict(values[positional:])
    )


if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
