"""Whether two runs of a program came to the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

__all__ = ["is_same"]

_DEEPEST = 30


def is_same(one: Any, other: Any, depth: int = 0) -> bool:
    """Whether two values are equal in kind and, bit by bit, in what they hold.

    What is not a number is equal to itself; of an object its attributes are compared.
    """
    if type(one) is not type(other) or depth > _DEEPEST:
        return False
    inner = depth + 1
    match one, other:
        case torch.Tensor(), torch.Tensor():
            return _is_same_tensor(one, other)
        case np.ndarray(), np.ndarray():
            return _is_same_array(one, other)
        case str() | bytes(), _:
            return one == other
        case float() | complex(), float() | complex():
            return one == other or (one != one and other != other)
        case Mapping(), Mapping():
            return _is_same_mapping(one, other, inner)
        case Sequence(), Sequence():
            return _is_same_row(one, other, inner)
        case _:
            return _is_same_object(one, other, inner)


def _is_same_mapping(one: Any, other: Any, depth: int) -> bool:
    return [*one] == [*other] and all(
        is_same(one[key], other[key], depth) for key in one
    )


def _is_same_row(one: Any, other: Any, depth: int) -> bool:
    return len(one) == len(other) and all(
        is_same(*pair, depth) for pair in zip(one, other, strict=True)
    )


def _is_same_array(one: Any, other: Any) -> bool:
    numpy: Any = np
    has_nan = one.dtype.kind in "fc"
    same = numpy.array_equal(one, other, equal_nan=has_nan)
    return one.dtype == other.dtype and bool(same)


def _is_same_object(one: object, other: object, depth: int) -> bool:
    if one is other:
        return True
    if type(one).__eq__ is object.__eq__:
        held: Any = getattr(one, "__dict__", None)
        return bool(held) and is_same(held, vars(other), depth)
    return bool(one == other)


def _is_same_tensor(one: torch.Tensor, other: torch.Tensor) -> bool:
    same = (
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.device == other.device
        and one.layout == other.layout
        and one.requires_grad == other.requires_grad
    )
    if not same:
        return False
    one, other = one.detach(), other.detach()
    if one.layout != torch.strided:
        one, other = one.to_dense(), other.to_dense()
    equal = one == other
    if one.is_floating_point() or one.is_complex():
        equal = equal | ((one != one) & (other != other))
    return bool(equal.all())
