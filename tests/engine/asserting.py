"""A model with an assert: of a file whose asserts pytest leaves as they are."""

from __future__ import annotations

from typing import Any

from torch import nn

from fxls import engine as fx


class Asserting(fx.Tracer):
    """A tracer that records asserts, as a user defines one."""

    trace_asserts = True


class Checked(nn.Module):
    """A nested input and a condition that is asserted."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, pair: Any, scale: Any = None) -> Any:
        assert pair[0].sum() > 0
        return self.inner(pair[0]) - pair[1]


def asserts_a_matrix(x: Any) -> Any:
    assert x.dim() == 2
    return x + 1
