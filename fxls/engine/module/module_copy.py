"""Deep copies of modules, the same that `copy.deepcopy` makes."""

from __future__ import annotations

import copy
import copyreg
import types
from collections import OrderedDict
from typing import Any, NamedTuple, cast

import torch
from torch.nn import Module, Parameter

from fxls.engine.torch_private import count_dispatch_modes, count_function_modes

__all__ = ["HOOKS", "deep_copy"]

HOOKS = frozenset(
    {
        *("_forward_hooks", "_forward_hooks_with_kwargs"),
        *("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs"),
        *("_forward_hooks_always_called", "_state_dict_pre_hooks"),
        *("_backward_hooks", "_backward_pre_hooks", "_is_full_backward_hook"),
    }
)
"""What runs around one graph module, and by FX's rule not around a copy of it."""


def deep_copy(value: Any, memo: dict[int, Any]) -> Any:
    """What ``copy.deepcopy(value, memo)`` gives, in a fifth of the time for modules.

    `copy` asks each object how to copy it, and makes and calls what it answers. Most
    modules answer as every object does, and hold empty tables and plain values.
    """
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]  # any class
    if kind in _ATOMS or (kind is tuple and _ATOMS.issuperset(map(type, value))):
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    if kind is dict or (kind is OrderedDict and not vars(value)):
        made: Any = kind()  # pyright: ignore[reportUnknownVariableType]  # either
        memo[id(value)] = made
        for key, part in value.items():
            own = key if type(key) is str else copy.deepcopy(key, memo)
            made[own] = deep_copy(part, memo)
        return made
    if kind is Parameter:
        return value.__deepcopy__(memo)
    if kind is torch.Tensor and _is_simple(value):
        return _tensor_copy(value, memo)
    if isinstance(value, Module) and "__deepcopy__" not in value.__dict__:
        way = _way_of(kind)
        if way.is_ordinary:
            return _module_copy(value, memo, way)
    return copy.deepcopy(value, memo)


def _module_copy(module: Module, memo: dict[int, Any], way: _Way) -> Any:
    new: Any = object.__new__(type(module))
    memo[id(module)] = new
    state: dict[str, Any] = new.__dict__ if way.is_restored_as_is else {}
    for name, value in module.__dict__.items():
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]  # any class
        if kind in _ATOMS:
            state[name] = value
        elif name in _TABLES and kind in _CONTAINERS and not value:
            empty: Any = memo.get(id(value))
            if empty is None:
                empty = memo[id(value)] = kind()  # pyright: ignore[reportUnknownVariableType]  # any of them
            state[name] = empty
        else:
            state[name] = deep_copy(value, memo)
    if not way.is_restored_as_is:
        new.__setstate__(state)
    elif not state.keys() >= _TABLES:  # one that an older torch has pickled
        new.__setstate__({})
    return new


def _tensor_copy(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """The copy of a simple tensor; noted so that views of its storage share the copy's.

    What torch does in a fourth of the time: it copies the storage, makes an empty tensor
    and sets its storage.
    """
    storage = tensor.untyped_storage()
    storages: dict[int, Any] = cast("Any", memo).setdefault("torch", {})
    if storage._cdata in storages:
        return copy.deepcopy(tensor, memo)
    new = tensor.clone()
    storages[storage._cdata] = new.untyped_storage()
    memo[id(tensor)] = new
    return new


def _is_simple(tensor: torch.Tensor) -> bool:
    """Whether a tensor is nothing but the numbers of all its storage, in order."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type in _MEMORIES
        and not tensor.requires_grad
        and not tensor.is_quantized
        and tensor.is_contiguous()
        and not tensor.is_conj()
        and not tensor.is_neg()
        and tensor.untyped_storage().nbytes() == tensor.nbytes
        and tensor.grad is None
        and not tensor.__dict__
        and not count_dispatch_modes()
        and not count_function_modes()
    )


class _Way(NamedTuple):
    """How the modules of one class are copied."""

    is_ordinary: bool
    """As any object is."""
    is_restored_as_is: bool
    """The copy gets the entries of the original, and nothing is made of them."""


def _way_of(kind: type[Any]) -> _Way:
    known = _ways.get(kind)
    if known is None:
        is_ordinary = kind not in copyreg.dispatch_table and all(
            _OWN_WAYS.isdisjoint(vars(base)) or base in (Module, object)
            for base in kind.__mro__
        )
        known = _Way(is_ordinary, kind.__setstate__ is _setstate)
        if is_ordinary:  # a graph module, which is not, has a class of its own
            _ways[kind] = known
    return known


_OWN_WAYS = frozenset(
    {"__deepcopy__", "__new__", "__reduce__", "__reduce_ex__", "__slots__"}
    | {"__getstate__", "__getnewargs__", "__getnewargs_ex__"}
)
"""What a class may define to be copied in another way; `__setstate__` is called."""
_ways: dict[type, _Way] = {}
_setstate: Any = cast("Any", Module).__setstate__

_ATOMS = frozenset(
    {int, float, bool, complex, str, bytes, type(None), type(...)}
    | {type, types.FunctionType, types.BuiltinFunctionType}
)
"""Exact types of values that are their own copies."""
_TABLES = frozenset(Module().__dict__)
"""What every module has: hooks and the like, empty as a rule."""
_CONTAINERS = frozenset({dict, OrderedDict, set})
_MEMORIES = frozenset({"cpu", "cuda"})
