"""Random weights of a model that is only traced: a large one repeats what was drawn."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator
from typing import Any, cast

import torch

__all__ = ["draw_less"]

_METHODS = ("normal_", "uniform_")
"""Those of torch.nn.init draw by these."""

_LARGE = 1 << 18
"""Numbers in a tensor of which only the first are drawn."""

_DRAWN = 32_749
"""Numbers that are drawn. It is a prime, so that no two rows of a matrix are equal, and
so few that torch copies them without asking other threads.
"""

_Method = Callable[..., torch.Tensor]


@contextlib.contextmanager
def draw_less() -> Generator[None]:
    """Let `normal_` and `uniform_` draw some numbers of a large tensor, and repeat them.

    Drawing is most of what it takes to build a model of a billion parameters, and
    nobody sees what they are: a graph has their shapes. They are random all the same,
    because a constructor may count, sort or invert them.
    """
    # They are methods of a base class, unless somebody put others here.
    before = {name: vars(torch.Tensor).get(name) for name in _METHODS}
    for name in _METHODS:
        setattr(torch.Tensor, name, _repeating(getattr(torch.Tensor, name)))
    try:
        yield
    finally:
        for name, method in before.items():
            if method is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, method)


def _repeating(draw: _Method) -> _Method:
    """The method of a tensor, for large ones in less time."""

    @functools.wraps(draw)
    def drawn(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if self.numel() < _LARGE or not _is_plain(self):
            return draw(self, *args, **kwargs)
        pieces = cast("Any", self.view(-1)).split(_DRAWN)  # torch says no types of it
        first = pieces[0]
        draw(first, *args, **kwargs)
        for piece in pieces[1:]:
            piece.copy_(first[: len(piece)])
        return self

    return drawn


def _is_plain(tensor: torch.Tensor) -> bool:
    # Of what needs gradients, torch itself says why it may not be changed.
    is_recorded = tensor.requires_grad and torch.is_grad_enabled()
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type == "cpu"
        and tensor.is_contiguous()
        and not is_recorded
    )
