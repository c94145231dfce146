"""Programs of torch.export are listings that say what their inputs are."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch

from fxls.listing import Facts, Listing
from fxls.store import Store
from tests.runtime.producers.looking import (
    MODULE,
    header,
    listing_in,
    listings_in,
    sources,
)
from tests.runtime.producers.torch_nets import Net

export: Any = cast("Any", torch).export.export


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # torch's own
def test_an_exported_program_is_one_listing_with_its_signature(store: Store) -> None:
    program = export(Net(), (torch.ones(2, 4),))
    listing = listing_in(store, program.graph_module)
    assert list(listings_in(store)) == [("Net", "torch.export", "")]
    assert listing.identity.module == MODULE
    assert header(listing) == [
        "Inputs:",
        "  p_linear_weight: parameter linear.weight",
        "  p_linear_bias: parameter linear.bias",
        "  b_shift: buffer shift",
        "  x: user input",
        "Outputs:",
        "  sum_1: user output",
    ]
    line = "return (hidden + self.shift).sum(dim=1)"
    assert sources(listing) == {
        "linear": "hidden = self.block(self.linear(x))",
        "relu": "return torch.relu(x) * 2 + x",
        "mul": "return torch.relu(x) * 2 + x",
        "add": "return torch.relu(x) * 2 + x",
        "add_1": line,
        "sum_1": line,
    }
    scopes = {
        f.name: [s.path for s in listing.module_path(i)] for i, f in nodes(listing)
    }
    assert scopes["linear"] == ["linear"]
    assert scopes["relu"] == ["block"]
    shapes = {f.name: getattr(f.value, "shape", None) for _, f in nodes(listing)}
    assert shapes["linear"] == (2, 4)
    assert shapes["sum_1"] == (2,)


def nodes(listing: Listing) -> list[tuple[int, Facts]]:
    return list(enumerate(listing.nodes))
