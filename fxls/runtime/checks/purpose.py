"""Values that look as if they broke a rule, and are as somebody wanted them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch

from fxls.rules import Rule
from fxls.runtime.checks.statements import Statement
from fxls.runtime.checks.verdict import not_finite, tensors_of

__all__ = ["bad_state", "is_empty_memory", "is_mask", "is_of_autocast", "memory_of"]


def is_mask(statement: Statement, value: Any, module: torch.nn.Module | None) -> bool:
    """Whether infinite numbers are those of a mask, which hides what it is added to.

    A mask is written with ``inf`` where it is made, or comes as data: a buffer or an
    argument whose infinite numbers are all negative. `module` is what made the value.
    """
    if statement.says_infinite:
        return True
    if any(bool(one.isposinf().any()) for one in _floating(value)):
        return False
    if isinstance(value, torch.nn.Parameter):
        return False
    if statement.is_given or statement.attribute is not None:
        return True
    buffers = () if module is None else tuple(module.buffers())
    return any(bool(one.isneginf().any()) for one in _floating(buffers))


def _floating(value: Any) -> list[torch.Tensor]:
    return [
        one
        for one in tensors_of(value)
        if one.is_floating_point() and one.itemsize > 1 and not one.is_meta
    ]


def memory_of(value: Any) -> set[int]:
    """Where the tensors of a value have their numbers."""
    return {tensor.untyped_storage().data_ptr() for tensor in tensors_of(value)}


def is_empty_memory(value: Any, empty: set[int]) -> bool:
    """Whether a value lies in memory of which nobody has read."""
    return bool(empty) and memory_of(value) <= empty


def is_of_autocast(value: Any, others: set[torch.dtype]) -> bool:
    """Whether autocast is on, and chooses between these types."""
    if not isinstance(value, torch.Tensor):
        return False
    device = value.device.type
    if not torch.is_autocast_enabled(device):
        return False
    lower = cast("Any", torch).get_autocast_dtype(device)
    return {value.dtype, *others} <= {lower, torch.float32}


def bad_state(
    rule: Rule,
    statement: Statement,
    value: Any,
    module: torch.nn.Module | None,
    path: str | None,
) -> tuple[str, str] | None:
    """What a node reads of its module that breaks a rule already: path, and words.

    `path` is that of a parameter or a buffer which a captured graph is given.
    """
    read = statement.attribute if path is None else path
    if read is not None and isinstance(value, torch.Tensor):
        kind = "parameter" if isinstance(value, torch.nn.Parameter) else "buffer"
        return _words(rule, kind, read, value)
    if module is None or statement.module is None:
        return None
    parts: list[tuple[str, Callable[[str], Any]]] = [
        ("parameter", module.named_parameters),
        ("buffer", module.named_buffers),
    ]
    for kind, named in parts:
        for one, tensor in named(statement.module):
            if found := _words(rule, kind, one, tensor):
                return found
    return None


def _words(
    rule: Rule, kind: str, path: str, value: torch.Tensor
) -> tuple[str, str] | None:
    said = not_finite(rule, value)
    if said is None:
        return None
    return path, f"the {kind} {path} is bad already: {said}"
