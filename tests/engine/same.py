"""Whether two results are the same, all through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch

__all__ = ["assert_same"]


def assert_same(ours: Any, expected: Any) -> None:
    """Equal tensors, in containers of one kind or its immutable twin, and equal atoms."""
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(ours, expected, rtol=0, atol=0, equal_nan=True)
        assert ours.requires_grad == expected.requires_grad
    elif isinstance(expected, Mapping):
        table = cast("Mapping[Any, Any]", expected)
        assert list(ours) == list(table)
        for key in table:
            assert_same(ours[key], table[key])
    elif isinstance(expected, list | tuple):
        items = cast("Sequence[Any]", expected)
        assert isinstance(ours, list if isinstance(expected, list) else tuple)
        assert len(cast("Sequence[Any]", ours)) == len(items)
        for one, other in zip(cast("Sequence[Any]", ours), items, strict=True):
            assert_same(one, other)
    else:
        assert ours == expected
