"""Operators as compiled code may compute them, with other roundings than here.

Sums are plain loops. Eager adds by pairs, which rounds less; where a loop adds equal
numbers, as a gradient that was expanded has, each rounding goes the same way. Products of
matrices and convolutions on a GPU read numbers of 10 bits, where torch may let them: which
of its kernels do depends on the layout, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.torch_private import DispatchMode

__all__ = ["Otherwise"]

any_torch: Any = torch

_MOST = 1 << 14
"""So many elements are added one after the other; longer sums are several such ones."""


def _computed(
    _mode: object,
    operator: Any,
    _types: object,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """What an operator gives."""
    summed = _SUMS.get(str(operator))
    if summed is not None:
        return summed(*args, **(kwargs or {}))
    name = str(operator).split(".")[1] if "." in str(operator) else ""
    if name in _PRODUCTS and _is_short("convolution" not in name):
        args = tuple(map(_short, args))
    return operator(*args, **(kwargs or {}))


Otherwise: Any = type("Otherwise", (DispatchMode,), {"__torch_dispatch__": _computed})
"""While one is entered, operators compute otherwise."""


def _sum(
    value: Any,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,  # noqa: FBT001, FBT002  # as the operator has it
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    given = value if dtype is None else value.to(dtype)
    if not given.is_floating_point():
        return any_torch.sum(value, dim, keepdim, dtype=dtype)
    dims = sorted(one % max(given.dim(), 1) for one in dim or range(given.dim()))
    kept = [one for one in range(given.dim()) if one not in dims]
    rows = given.permute(*kept, *dims).reshape(*(given.shape[one] for one in kept), -1)
    total = _in_turn(rows.float() if rows.dtype != torch.float64 else rows)
    if keepdim:
        sizes = [1 if one in dims else size for one, size in enumerate(given.shape)]
        total = total.reshape(sizes)
    return total.to(given.dtype)


def _mean(
    value: Any,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,  # noqa: FBT001, FBT002  # as the operator has it
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    total = _sum(value, dim, keepdim, dtype=dtype)
    return total / max(value.numel() // max(total.numel(), 1), 1)


_SUMS = {
    "aten.sum.default": _sum,
    "aten.sum.dim_IntList": _sum,
    "aten.mean.default": _mean,
    "aten.mean.dim": _mean,
}
_PRODUCTS = {
    *("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward"),
    *("cudnn_convolution", "convolution_overrideable"),
}


def _is_short(is_matrix: bool) -> bool:  # noqa: FBT001  # private
    """Whether torch may let a GPU leave bits out of float32."""
    if is_matrix:
        return any_torch.get_float32_matmul_precision() != "highest"
    # It raises where the program sets it by the other of two ways.
    found = attempt(lambda: any_torch.backends.cudnn.allow_tf32)
    return isinstance(found, Raised) or bool(found)


def _short(value: Any) -> Any:
    """A tensor of a GPU in the numbers of TensorFloat32: it cuts 13 bits of float32 off, so
    that all products are too small, however long their sum.
    """
    if not isinstance(value, torch.Tensor) or not value.is_cuda:
        return value
    if value.dtype != torch.float32:
        return value
    bits = value.contiguous().view(torch.int32)
    return (bits >> 13 << 13).view(torch.float32).reshape(value.shape)


def _in_turn(rows: Any) -> Any:
    """The sum of the last dimension."""
    count = rows.shape[-1]
    lanes = math.ceil(count / _MOST) if count else 1
    if count % lanes:
        rows = any_torch.nn.functional.pad(rows, (0, lanes - count % lanes))
    columns = rows.unflatten(-1, (-1, lanes)).movedim(-2, 0).contiguous()
    total = any_torch.zeros_like(columns[0]) if count else columns.sum(0)
    for one in columns:
        total += one
    return total.sum(-1)
