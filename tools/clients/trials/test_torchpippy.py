"""PiPPy splits a traced model into the stages of a pipeline, runs and sends them.

Its own tracing is torch.export's; the graphs here are those of `symbolic_trace`.
"""

from __future__ import annotations

import importlib
import pickle
from typing import Any

import pytest
import torch
import torch.export
import torch.fx
from torch import nn

torch.export.__dict__.setdefault("Constraint", object)  # a name that torch dropped
IR: Any = importlib.import_module("pippy.IR")
policies: Any = importlib.import_module("pippy.ModelSplit")
SHARED = list(IR.MultiUseParameterConfig)
X = torch.arange(8.0).reshape(2, 4)


class Net(nn.Module):
    """A model with a parameter that two stages share."""

    shift: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.full((4,), 2.0))
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x: Any, factor: Any = 2.0) -> Any:
        x = torch.relu(self.first(x) * self.scale) + self.shift
        return self.second(x) * self.scale * factor


def piped(model: nn.Module, stages: int, shared: Any) -> Any:
    split = policies.split_into_equal_size(stages)(torch.fx.symbolic_trace(model))
    return IR.Pipe._from_traced(model, split, shared)


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("stages", [2, 3])
def test_the_stages_compute_what_the_model_does(shared: Any, stages: int) -> None:
    model = Net().eval()

    pipe = piped(model, stages, shared)

    assert pipe.num_stages == stages
    assert torch.equal(pipe(X, 3.0), model(X, 3.0))
    assert pipe.remap_qualname("submod_0.first.weight") == "first.weight"


@pytest.mark.parametrize("shared", SHARED)
def test_a_stage_is_sent_to_another_process(shared: Any) -> None:
    stage = piped(Net().eval(), 2, shared).split_gm.submod_0

    sent = pickle.loads(pickle.dumps(stage))

    assert sent.code == stage.code
    for found, expected in zip(_listed(sent(X)), _listed(stage(X)), strict=True):
        assert torch.equal(found, expected)


def _listed(result: Any) -> list[Any]:
    return [result] if isinstance(result, torch.Tensor) else list(result)
