"""What both systems make of a library's model is compared and counted."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tools.models.__main__ import details, outcome, row
from tools.models.libraries import Model


def passed_on(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    return wrapped


class Decorated(nn.Module):
    @passed_on
    def forward(self, x: Any, *, scale: Any = 2) -> Any:
        return x * scale


class Branching(nn.Module):
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


class Sized(nn.Module):
    def forward(self, x: Any) -> Any:
        return x if x.shape[0] > 2 else -x


class Failing(nn.Module):
    def forward(self, x: Any) -> Any:
        raise LookupError("no model")


def test_models_are_counted_by_what_both_make_of_them() -> None:
    models = [
        Model("same", nn.Tanh),
        Model("gained", Decorated, ("x",)),
        Model("refused", Branching),
        Model("broken", Failing),
        Model("sized", Sized, example=lambda _: {"x": torch.randn(3, 2)}),
    ]

    outcomes = [outcome(model) for model in models]

    version = importlib.metadata.version("torch").partition("+")[0]
    assert row("torch", outcomes) == f"| torch | {version} | 5 | 1 | 2 | 1 | 3 | 1 |"
    assert details("torch", outcomes) == [
        "- torch: fxls.engine alone traces `gained`.",
        "- torch: 2 refused by ControlFlowError.",
        "- torch: 1 refused by LookupError.",
        "- torch: 2 not even by example: there is no example.",
        "- torch: `broken`: LookupError has no line or no advice.",
    ]
