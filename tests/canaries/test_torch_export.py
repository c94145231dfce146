"""What the hooks count on in torch.export when they run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

any_torch: Any = torch


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_program_says_what_its_inputs_and_outputs_are() -> None:
    program = any_torch.export.export(Net(), (torch.ones(1),))
    (given,) = program.graph_signature.input_specs
    assert (given.kind.name, given.arg.name, given.target) == ("USER_INPUT", "x", None)
    assert len(program.graph_signature.output_specs) == 1
    assert torch.equal(
        program.graph_module(*program._graph_module_flat_inputs((torch.ones(1),), {}))[
            0
        ],
        torch.full((1,), 2.0),
    )
