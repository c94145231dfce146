"""How much of a model is looked at; docs/overhead.md says so of a GPT-2."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch

import fxls
from benchmarks.models import Gpt
from fxls.runtime.checks import watched
from fxls.runtime.checks.gradients import Gradients
from fxls.runtime.torch_private import nodes_of_autograd
from fxls.store import Store

fx: Any = torch.fx


def test_most_of_a_model_needs_no_look(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gm: Any = fx.symbolic_trace(Gpt(12, 64, 4))
    hooked: list[str] = []
    looked_at: list[object] = []
    is_fine = watched.has_no_nan

    def hook(_gradients: Gradients, name: str, _node: object) -> None:
        hooked.append(name)

    def look(value: object) -> bool:
        looked_at.append(value)
        return is_fine(value)

    monkeypatch.setattr(Gradients, "_hook", hook)
    monkeypatch.setattr(watched, "has_no_nan", look)
    fxls.break_on("nan", "grad-nan")
    before = nodes_of_autograd()
    gm(cast("Any", torch).randint(32, (4, 4)))
    assert (nodes_of_autograd() - before, len(hooked)) == (656, 164)
    assert (len(gm.graph.nodes) - 1, len(looked_at)) == (932, 283)
