"""What a node's meta says of its value, as plain facts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard, cast

import torch

from fxls.listing import Items, Plain, Tensor, Value
from fxls.runtime.listings.short_repr import written

__all__ = ["note_value", "value_of"]

_LONGEST = 60
"""Characters of a plain value that are kept."""


def value_of(meta: Mapping[str, Any]) -> Value | None:
    """The facts that a node's `meta` holds of its value; None when it holds none."""
    if _SEEN in meta:
        return meta[_SEEN]
    for key in ("val", "tensor_meta", "example_value"):
        if key in meta:
            return _value(meta[key])
    return _plain_from(meta["type"]) if "type" in meta else None


def note_value(meta: MutableMapping[str, Any], value: Any) -> None:
    """Note what a node's value was seen to be.

    Says more than FX's ``tensor_meta``: the device, and values that are no tensors.
    """
    meta[_SEEN] = _value(value)


_SEEN = "fxls_value"


def _value(value: Any) -> Value:
    if isinstance(value, torch.Tensor):
        # Facts are written by a thread of their own. While a kernel of its mode runs in
        # another one, a fake tensor says that it is on the device `meta`.
        device: torch.device = getattr(value, "fake_device", None) or value.device
        return _tensor(value, device.type, value.requires_grad)
    if hasattr(value, "_fields") and "dtype" in value._fields:  # FX's TensorMetadata
        return _tensor(value, "", value.requires_grad)
    kind = type(value).__name__
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        return Items(
            kind,
            tuple(_value(v) for v in mapping.values()),
            tuple(k if isinstance(k, str) else written(k, _LONGEST) for k in mapping),
        )
    if isinstance(value, tuple | list):
        items = cast("Sequence[Any]", value)
        return Items(kind, tuple(_value(v) for v in items))
    return Plain(written(value, _LONGEST), kind)


def _tensor(value: Any, device: str, requires_grad: bool) -> Tensor:  # noqa: FBT001
    shape = _sizes(value.shape)
    stride: Any = value.stride
    if callable(stride):
        stride = stride() if value.layout is torch.strided else None
    name, bytes_each = _kind_of_number(value.dtype)
    return Tensor(
        shape,
        name,
        device,
        None if stride is None else _sizes(stride),
        math.prod(shape) * bytes_each if _are_plain(shape) else None,
        requires_grad,
    )


@lru_cache
def _kind_of_number(dtype: torch.dtype) -> tuple[str, int]:
    return str(dtype).removeprefix("torch."), dtype.itemsize


def _sizes(sizes: Iterable[Any]) -> tuple[int | str, ...]:
    """Sizes as numbers; a symbolic one as its expression."""
    found = tuple(sizes)
    if _are_plain(found):
        return found
    return tuple([n if type(n) is int else str(n) for n in found])


def _are_plain(sizes: tuple[Any, ...]) -> TypeGuard[tuple[int, ...]]:
    return _PLAIN.issuperset(map(type, sizes))


_PLAIN = frozenset([int])


def _plain_from(kind: Any) -> Value | None:
    name = getattr(kind, "__name__", None)
    return None if name is None or kind is torch.Tensor else Plain("", name)
