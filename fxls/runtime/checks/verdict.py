"""Whether a value breaks a rule, and what is wrong with it then, in a few words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import torch

from fxls.listing import Items, Tensor, Value
from fxls.rules import Rule
from fxls.runtime.torch_private import is_recording
from fxls.tensor_view import is_plain, unseen

__all__ = [
    "BARE",
    "are_finite",
    "deviation",
    "has_no_nan",
    "is_finite",
    "is_ordinary",
    "is_transparent",
    "not_finite",
    "tensors_of",
]

_PLAIN = (torch.Tensor, torch.nn.Parameter)

BARE = frozenset(
    {bool, int, slice, str, torch.Size, torch.device, torch.dtype, type(None)}
)
"""The types of values without tensors and without NaN."""

_INEXACT = frozenset(
    one
    for one in vars(torch).values()
    if isinstance(one, torch.dtype) and (one.is_floating_point or one.is_complex)
)
"""The types that have NaN: to look one up takes a third of asking a tensor."""

_FEW = 2048
"""Up to so many numbers are compared faster, one by one, than added up."""


def has_no_nan(value: Any) -> bool:
    """Whether no number of a tensor is NaN; no where only a look can tell."""
    if not (
        type(value) in _PLAIN
        and value.is_cpu
        and value.dtype in _INEXACT
        and value.layout is torch.strided
        and not is_recording()
    ):
        return is_finite(value)
    if value.numel() > _FEW:
        return _has_finite_sum(value.data)
    try:
        # Nothing but NaN differs from itself, and this makes no tensor.
        return torch.equal(value, value)
    except NotImplementedError:
        return False  # of numbers of eight bits, and of what is nested


def is_finite(value: Any) -> bool:
    """Whether a tensor is finite, by one pass over it; no where only a look can tell.

    Also yes for what holds no numbers that could be anything else.
    """
    if type(value) not in _PLAIN:
        if type(value) is tuple:  # the parts of a split tensor
            return all(map(is_finite, cast("tuple[Any, ...]", value)))
        return type(value) in BARE or isinstance(value, int | str | torch.nn.Module)
    if value.dtype not in _INEXACT:
        return True
    if value.layout is not torch.strided or is_recording():
        return False
    if not value.is_cpu:  # most are where they can be looked at: one question less
        if value.is_meta:
            return False
        if value.is_cuda and torch.cuda.is_current_stream_capturing():
            return True  # nobody may look, and there is no value yet
    return _has_finite_sum(value.detach() if value.requires_grad else value)


def are_finite(gradients: Sequence[torch.Tensor | None], known: Any) -> bool:
    """Whether all gradients that a node made are finite; no where only a look can tell.

    One that is `known` was looked at before. What holds for all is asked once.
    """
    is_plain = not is_recording()
    for gradient in gradients:
        if gradient is None or gradient is known:
            continue
        if not (
            is_plain
            and type(gradient) is torch.Tensor
            and gradient.is_cpu
            and gradient.layout is torch.strided
        ):
            if not is_finite(gradient):
                return False
        elif not _has_finite_sum(gradient):
            return False
    return True


def _has_finite_sum(value: torch.Tensor) -> bool:
    # What is NaN or infinite makes the sum so; a sum may also be too large to hold.
    try:
        total = value.sum().item()
    except NotImplementedError:
        return False  # there is no arithmetic for numbers of eight bits
    return total - total == 0


def not_finite(rule: Rule, value: Any) -> str | None:
    """What is NaN, or infinite, of a tensor; None for nothing.

    Looks at nothing while somebody traces or records.
    """
    if not isinstance(value, torch.Tensor):
        if not isinstance(value, float):
            return None
        bad = math.isnan(value) if rule is not Rule.INF else math.isinf(value)
        return f"it is {value}" if bad else None
    if not (value.is_floating_point() or value.is_complex()) or not is_plain(value):
        return None
    with unseen():
        value = value.float() if value.itemsize == 1 else value
        found = value.isinf() if rule is Rule.INF else value.isnan()
        count = int(found.sum())
    what = "infinite" if rule is Rule.INF else "NaN"
    if not count:
        return None
    return f"{count:,} of {value.numel():,} {'is' if count == 1 else 'are'} {what}"


def deviation(rule: Rule, value: Any, recorded: Value) -> str | None:
    """How a value differs in shape, or in dtype, from what is recorded of its node."""
    match recorded:
        case Tensor():
            if not isinstance(value, torch.Tensor):
                return None
            return (
                _shape(value, recorded)
                if rule is Rule.SHAPE
                else _dtype(value, recorded)
            )
        case Items():
            if not isinstance(value, Sequence | Mapping):
                return None
            whole = cast("Any", value)
            items = list(whole.values() if isinstance(value, Mapping) else whole)
            if rule is Rule.SHAPE and len(items) != len(recorded.items):
                return f"{len(items)} items, where {len(recorded.items)} are recorded"
            for i, (item, known) in enumerate(zip(items, recorded.items, strict=False)):
                if said := deviation(rule, item, known):
                    return f"item {i}: {said}"
            return None
        case _:
            return None


def _shape(value: torch.Tensor, recorded: Tensor) -> str | None:
    shape = tuple(value.shape)
    # A symbolic size may be any.
    same = len(shape) == len(recorded.shape) and all(
        isinstance(known, str) or size == known
        for size, known in zip(shape, recorded.shape, strict=True)
    )
    if same:
        return None
    known = ", ".join(map(str, recorded.shape))
    return (
        f"shape {shape}, where ({known}{',' * (len(recorded.shape) == 1)}) is recorded"
    )


def _dtype(value: torch.Tensor, recorded: Tensor) -> str | None:
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype == recorded.dtype:
        return None
    return f"dtype {dtype}, where {recorded.dtype} is recorded"


def is_ordinary(value: Any) -> bool:
    """Whether a tensor is none of a class of somebody's, and its numbers lie in memory
    by strides; yes for what is no tensor.
    """
    return not isinstance(value, torch.Tensor) or (
        type(value) in _PLAIN and value.layout is torch.strided and not value.is_nested
    )


def is_transparent(value: Any) -> bool:
    """Whether all numbers that a value has, or may give, are those that are seen in it."""
    if type(value) in _PLAIN or type(value) in BARE:
        return True
    if isinstance(value, Mapping):
        whole = cast("Mapping[Any, Any]", value)
        return all(map(is_transparent, whole.values()))
    if isinstance(value, tuple | list):
        return all(map(is_transparent, cast("Sequence[Any]", value)))
    return isinstance(value, int | float | complex | str | torch.nn.Module)


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a value, also in tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[Any, Any]", value).values():
            yield from tensors_of(item)
    elif isinstance(value, tuple | list):
        for item in cast("Sequence[Any]", value):
            yield from tensors_of(item)
