# pyright: reportUnknownMemberType=false
"""What is read of a module for its listing is in no graph that another thread traces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

import fxls
import fxls.engine
from fxls.runtime.listings.quiet_reading import attribute_at, stand_in

FX: list[Any] = [torch.fx, fxls.engine]


class Net(nn.Module):
    """Of layers whose repr reads parameters, and of one that is called as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.norm = nn.LayerNorm(3)
        self.shift = nn.Parameter(torch.ones(3))
        self.register_buffer("scale", torch.ones(3))
        self.meanwhile: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.linear(x))
        if self.meanwhile is not None:
            self.meanwhile()
        return hidden * self.scale + self.shift


@pytest.mark.parametrize("fx", FX, ids=lambda fx: fx.__name__)
def test_a_trace_records_nothing_of_a_listing_that_is_made_meanwhile(fx: Any) -> None:
    net = Net()
    plain = fx.symbolic_trace(net)
    listing = fxls.listing_of(plain)

    with ThreadPoolExecutor(1) as pool:
        made: list[object] = []

        def list_it() -> None:
            made.append(pool.submit(fxls.listing_of, plain).result(timeout=60))

        net.meanwhile = list_it
        traced = fx.symbolic_trace(net)

    assert str(traced.graph) == str(plain.graph)
    assert made == [listing]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("linear", "Linear(in_features=2, out_features=3, bias=True)"),
        ("absent", "None"),
    ],
)
def test_an_attribute_is_found_by_its_path(path: str, found: str) -> None:
    assert repr(attribute_at(Net(), path)) == found


def test_parameters_buffers_and_plain_attributes_are_found() -> None:
    net = Net()

    assert attribute_at(net, "linear.weight") is net.linear.weight
    assert attribute_at(net, "scale") is net.scale
    assert attribute_at(net, "norm.eps") == 1e-5
    assert attribute_at(net, "linear.weight.shape") == (3, 2)


def scripted() -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(nn.Linear(2, 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(1, 2), nn.ModuleDict({"a": nn.BatchNorm1d(2)})),
        lambda: nn.MultiheadAttention(4, 2),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)),
        lambda: nn.GRU(2, 3, num_layers=2),
        scripted,
    ],
    ids=["nested", "attention", "parametrized", "recurrent", "scripted"],
)
def test_what_stands_in_for_a_module_has_its_repr(
    make: Callable[[], nn.Module],
) -> None:
    module = make()

    assert repr(stand_in(module)) == repr(module)
