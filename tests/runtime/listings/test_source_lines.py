"""A line of the source is found in a listing, each time that it ran."""

from __future__ import annotations

import inspect
from pathlib import Path

import torch
from torch import nn

from fxls.engine import symbolic_trace
from fxls.runtime import listing_of
from fxls.runtime.listings.source_lines import nodes_of_lines


class Part(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(x)
        return x * 2 * 3


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Part(), Part()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
        for _ in range(3):
            x = x + 1
        return x


def test_each_run_of_a_line_begins_with_its_first_node() -> None:
    listing = listing_of(symbolic_trace(Net()))
    rows = Path(__file__).read_text("utf-8").splitlines()
    first = min(inspect.getsourcelines(kind)[1] for kind in (Part, Net))
    found = {
        rows[line - 1].strip(): [listing.nodes[node].name for node in nodes]
        for (path, line), nodes in nodes_of_lines(listing).items()
        if path == str(Path(__file__).resolve()) and line > first
    }
    assert found == {
        "x = part(x)": ["relu", "relu_1"],
        "x = torch.relu(x)": ["relu", "relu_1"],
        "return x * 2 * 3": ["mul", "mul_2"],
        "x = x + 1": ["add", "add_1", "add_2"],
    }
