# pyright: reportUnknownMemberType=false
"""Colossal-AI's analyzer traces with the sizes of its inputs.

Its packages import what needs a GPU, so the analyzer is imported without them.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

for name in ("colossalai", "colossalai.fx"):
    package = ModuleType(name)
    package.__path__ = [str(Path.cwd().joinpath(*name.split(".")))]
    sys.modules[name] = package
analyzer: Any = importlib.import_module("colossalai._analyzer.fx")
codegen: Any = importlib.import_module("colossalai._analyzer.fx.codegen")
X = torch.linspace(-1, 1, 8).reshape(2, 4)


class Net(nn.Module):
    """A reshape by a size, a branch by one, and a buffer."""

    shift: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.first(x)) + self.shift
        if x.size(1) > 2:
            x = torch.tanh(self.second(x)) * torch.nn.functional.gelu(x)
        return x.view(x.shape[0], -1) - 1


def traced(model: nn.Module) -> Any:
    return analyzer.symbolic_trace(model, meta_args={"x": X.to("meta")})


def test_a_trace_with_sizes_computes_what_the_model_does() -> None:
    model = Net().eval()

    made = traced(model)

    assert torch.equal(made(X), model(X))
    assert [node.op for node in made.graph.nodes].count("call_module") == 2


@pytest.mark.parametrize("name", ["inf", "torch", "colossalai"])
def test_the_builtins_of_the_codegen_are_known(name: str) -> None:
    assert name in codegen._custom_builtins
