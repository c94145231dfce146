"""The numbers of a tensor, whatever its dtype, in a form that torch can compare."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["has_numbers_of", "is_short", "plain", "share_of_others"]

any_torch: Any = torch


def plain(value: torch.Tensor) -> torch.Tensor:
    """The numbers of a value, as torch can judge them; a complex one has two in the place
    of each, and one of eight bits is widened, as torch has few operators for it.
    """
    if value.is_complex():
        return any_torch.view_as_real(value.resolve_conj())
    if is_short(value.dtype):
        return value.float()
    return value.resolve_neg()


def is_short(dtype: torch.dtype) -> bool:
    """Whether its numbers have eight bits, with a point among them."""
    return dtype.is_floating_point and dtype.itemsize == 1


def has_numbers_of(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one form hold the same numbers, and NaN in the same places."""
    return any_torch.equal(plain(one).nan_to_num(), plain(other).nan_to_num())


def share_of_others(one: torch.Tensor, other: torch.Tensor) -> float:
    """The share of the elements that are not the same number, or both NaN."""
    one, other = plain(one), plain(other)
    is_other = (one != other) & ~(one.isnan() & other.isnan())
    return float(is_other.double().mean()) if one.numel() else 0.0
