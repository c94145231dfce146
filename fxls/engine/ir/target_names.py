"""What a function is called in text: its qualified name, and the operators."""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable
from typing import Any

import torch

from fxls.engine.torch_private import OPERATOR_MODULE, TENSOR_MODULE

__all__ = [
    "INPLACE_OPERATORS",
    "OPERATORS",
    "module_of",
    "pretty_target",
    "qualified_name",
]

OPERATORS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "matmul": "{} @ {}",
    "truediv": "{} / {}",
    "div": "{} / {}",
    "floordiv": "{} // {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "neg": "-{}",
    "pos": "+{}",
    "invert": "~{}",
    "getitem": "{}[{}]",
}
"""How the functions of `operator` are written that have an operator of their own."""

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "div"})
"""Operators that have no form that changes the first argument."""

INPLACE_OPERATORS = {
    **{
        f"i{name.rstrip('_')}": form.removesuffix(" {}") + "= {}"
        for name, form in OPERATORS.items()
        if form.startswith("{} ") and form.endswith(" {}") and name not in _COMPARISONS
    },
    "setitem": "{}[{}] = {}",
}
"""How those are written that change their first argument."""


def qualified_name(func: Callable[..., Any]) -> str:
    """The dotted name by which a function can be reached.

    Raises RuntimeError when no module is known to hold it.
    """
    known = _qualified.get(id(func))
    if known is not None:
        return known[1]
    name = _qualify(func)
    if name.startswith(_LASTING):
        _qualified[id(func)] = (func, name)
    return name


def pretty_target(target: object) -> str:
    """A target as `str(graph)` writes it."""
    known = _pretty.get(id(target))
    if known is not None:
        return known[1]
    if isinstance(target, str):
        return target
    if not callable(target):
        return repr(target)
    module = getattr(target, "__module__", None)
    if module == "builtins":
        return f"builtins.{_name(target)}"
    if module == "_operator":
        name = f"operator.{_name(target)}"
    else:
        name = qualified_name(target)
        if id(target) not in _qualified:
            return name
    _pretty[id(target)] = (target, name)
    return name


_LASTING = ("torch.", "_operator.", "math.")
_qualified: dict[int, tuple[Any, str]] = {}
_pretty: dict[int, tuple[Any, str]] = {}
"""By identity, because torch has functions that are equal and differ in name. Only of
functions that live as long as the process, so that the table holds nothing back."""


_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.FunctionType)


def _name(target: Any) -> str:
    return target.__name__


def _qualify(func: Any) -> str:
    name: Any = getattr(func, "__name__", None)
    if name is not None and getattr(builtins, name, None) is func:
        return name
    if _is_tensor_method(func):
        return f"torch.Tensor.{name}"
    if name is None:
        raise AttributeError(f"{func!r} has no __name__ by which code could call it")
    if name == "<lambda>":
        name = _lambda_source(func)
    module = module_of(func, name).replace(OPERATOR_MODULE, "torch.ops")
    if module == "torch" and name == "segment_reduce":
        name = "_segment_reduce"  # the public name takes other arguments
    if module.startswith("torch.ops") and hasattr(func, "_overloadname"):
        name = (
            str(func).rpartition(".")[0].rpartition(".")[2] + "." + func._overloadname
        )
    return f"{module}.{name}"


def _is_tensor_method(func: Any) -> bool:
    if not isinstance(func, _METHODS):
        return False
    return getattr(torch.Tensor, func.__name__, None) is func or (
        getattr(func, "__module__", None) == TENSOR_MODULE
        and getattr(func, "__qualname__", "").startswith("Tensor.")
    )


def module_of(func: Any, name: str) -> str:
    """The name of the module in which a function is found under its name.

    Raises RuntimeError when no module is known to hold it.
    """
    module: str | None = func.__module__
    if module is not None:
        return module
    for holder in (torch, torch.nn.functional):
        if getattr(holder, name, None) is func:
            return holder.__name__
    raise RuntimeError(
        f"no module is known to hold {func!r}, so generated code could not call it"
    )


def _lambda_source(func: Any) -> str:
    try:
        return inspect.getsource(func).split("=")[0].strip()
    except (OSError, TypeError) as error:
        raise RuntimeError("a lambda without source cannot be named in code") from error
