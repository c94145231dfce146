"""The small numbers of a tensor that holds far larger ones as well.

The roundings of a large number hide any error in a small one: beside the -1e9 of a mask
a score may be off by a hundred. So small numbers are looked at among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

__all__ = ["PART", "small_parts"]

_APART = 1024.0
"""So much smaller than the largest number is a small one."""
_FEW = 16
"""Of fewer nobody knows how far chance lets them be off."""
PART = 1 / 64
"""A small number is wrong when it is off by this part of the largest small one, as
functions are that are computed by way of a large one: ``exp(x) - 1``."""


def small_parts(
    sizes: torch.Tensor, counts: torch.Tensor | None = None
) -> Iterator[torch.Tensor]:
    """Which elements are small, and again which of these are small among them, and so on.

    Of these absolute values those count that are said to.
    """
    while True:
        inside = sizes if counts is None else sizes[counts]
        largest = float(inside.max()) if inside.numel() else 0.0
        small = sizes <= largest / _APART
        if counts is not None:
            small &= counts
        among = sizes[small]
        if among.numel() < _FEW or not float(among.max()):
            return
        yield small
        counts = small
