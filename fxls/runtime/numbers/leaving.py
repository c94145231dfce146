"""What the call of something compiled leaves behind, besides what it returns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from fxls.runtime.numbers.kept import Copies, KeptCall
from fxls.runtime.numbers.room import Values

__all__ = ["left_behind", "overlaps", "watch_backward"]


def watch_backward(
    call: KeptCall, results: Sequence[Any], given: Sequence[Any]
) -> None:
    """Note when gradients of what a call returned are asked for, and what of it leads none
    back.
    """

    def asked(_given: Any) -> None:
        call.has_backward = True

    inputs = {id(one) for one in given}
    made = [one for one in results if id(one) not in inputs]
    nodes: set[Any] = {getattr(one, "grad_fn", None) for one in made}
    for node in nodes - {None}:
        node.register_prehook(asked)
    if not torch.is_grad_enabled():
        return
    call.leading_nowhere = tuple(
        at
        for at, one in enumerate(results)
        if id(one) not in inputs and getattr(one, "grad_fn", None) is None
    )
    for one in made:
        if getattr(one, "requires_grad", False) and one.grad_fn is None:
            one.register_hook(asked)


def left_behind(call: KeptCall, given: Sequence[Any], copies: Copies) -> Values | None:
    """Copies of the inputs that a call changed; None where nobody can tell what it does to
    each, or where there is no memory for them.
    """
    now = dict(zip(call.names, given, strict=True))
    tensors = {name: one for name, one in now.items() if isinstance(one, torch.Tensor)}
    changed = [
        name for name, one in tensors.items() if not torch.equal(one, call.values[name])
    ]
    if not changed:
        return Values()
    if call.shares_memory:
        return None
    taken = copies.take([now[name] for name in changed])
    if isinstance(taken, str):
        return None
    return Values.of_held(dict(zip(changed, taken, strict=True)), copies.room)


def overlaps(values: Sequence[Any]) -> bool:
    """Whether two of these tensors may share memory, so that what changes one changes the
    other.
    """
    spans: list[tuple[int, int]] = []
    seen: set[int] = set()
    for one in values:
        if not isinstance(one, torch.Tensor) or id(one) in seen or not one.numel():
            continue
        seen.add(id(one))
        ends = zip(one.shape, one.stride(), strict=True)
        extent = 1 + sum((size - 1) * stride for size, stride in ends)
        start = one.data_ptr()
        spans.append((start, start + extent * one.element_size()))
    spans.sort()
    return any(end > start for (_, end), (start, _) in itertools.pairwise(spans))
