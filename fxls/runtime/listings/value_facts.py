"""What a node's meta says of its value, as plain facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableMapping, Sequence
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
        return _tensor(value, device)
    if hasattr(value, "_fields") and "dtype" in value._fields:  # FX's TensorMetadata
        return _tensor(value, None)
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


def _tensor(value: Any, device: torch.device | None) -> Tensor:
    shape: tuple[Any, ...] = tuple(value.shape)
    stride: Any = value.stride
    if callable(stride):
        stride = stride() if value.layout is torch.strided else None
    # Symbols are written first: to ask whether two are equal adds a guard.
    if not _are_plain(shape):
        shape = tuple(map(_size, shape))
    if stride is not None:
        stride = tuple(stride)
        if not _are_plain(stride):
            stride = tuple(map(_size, stride))
    return _alike(shape, value.dtype, device, stride, value.requires_grad)


@lru_cache(1024)
def _alike(
    shape: tuple[int | str, ...],
    dtype: torch.dtype,
    device: torch.device | None,
    stride: tuple[int | str, ...] | None,
    requires_grad: bool,  # noqa: FBT001 - it is a key
) -> Tensor:
    """The facts of all tensors that are alike: a graph has few kinds of them."""
    return Tensor(
        shape,
        str(dtype).removeprefix("torch."),
        "" if device is None else device.type,
        stride,
        math.prod(shape) * dtype.itemsize if _are_plain(shape) else None,
        requires_grad,
    )


def _size(size: Any) -> int | str:
    """A size as a number; a symbolic one as its expression."""
    return size if type(size) is int else str(size)


def _are_plain(sizes: tuple[Any, ...]) -> TypeGuard[tuple[int, ...]]:
    return _PLAIN.issuperset(map(type, sizes))


_PLAIN = frozenset([int])


def _plain_from(kind: Any) -> Value | None:
    name = getattr(kind, "__name__", None)
    return None if name is None or kind is torch.Tensor else Plain("", name)
