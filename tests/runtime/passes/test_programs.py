"""Functions that change a program of torch.export, or its module, are passes, unasked."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from fxls.record import Pass

any_torch: Any = torch
aten: Any = any_torch.ops.aten

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's own


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        return y + x


def relu_to_tanh(module: Any) -> None:
    for node in module.graph.nodes:
        if node.target is aten.relu.default:
            node.target = aten.tanh.default
    module.recompile()


def exported() -> Any:
    return any_torch.export.export(Net(), (torch.ones(2, 3),))


def graph_of(program: Any) -> Any:
    return program.graph_module


def module_of(program: Any) -> Any:
    return program.module()


def copied_module(program: Any) -> Any:
    return copy.deepcopy(program.module())


def told(noted: list[Pass]) -> list[tuple[str, int, str, str, tuple[str, ...]]]:
    return [
        (one.name, one.ordinal, one.producer, one.stage, one.altered.first)
        for one in noted
    ]


@pytest.mark.parametrize(
    ("given", "producer", "stage"),
    [
        (graph_of, "torch.export", ""),
        (module_of, "torch.export", "module"),
        (copied_module, "torch.fx", ""),
    ],
)
def test_a_function_that_changes_a_program_is_a_pass(
    noted: list[Pass], given: Callable[[Any], Any], producer: str, stage: str
) -> None:
    module = given(exported())
    assert noted == []
    relu_to_tanh(module)
    relu_to_tanh(module)  # which changes nothing, and is no pass
    assert told(noted) == [("relu_to_tanh", 1, producer, stage, ("relu",))]
    (ran,) = noted
    assert ran.before is not None
    assert ran.after is not None
    assert ran.before != ran.after


def test_what_torch_does_to_programs_is_no_pass_of_the_program(
    noted: list[Pass],
) -> None:
    program = exported()
    any_torch.export.unflatten(program)
    lowered = program.run_decompositions({})
    again = any_torch.export.export(lowered.module(), (torch.ones(2, 3),))
    assert again.module()(torch.ones(2, 3)).sum() == 12
    assert noted == []
