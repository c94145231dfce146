"""What a program calls the inputs of a graph that torch.compile captured."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
from torch import nn

from fxls.runtime.listings.program_names import path_in_module, program_name
from fxls.store import Store
from tests.runtime.producers.looking import listings_in

_any: Any = cast("Any", torch)


class Held(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4, bias=False)
        self.several = nn.ParameterList([nn.Parameter(torch.ones(4))])
        self.named: Any = nn.ParameterDict({"a b": nn.Parameter(torch.ones(4))})
        self.register_buffer("scale", torch.ones(4))
        self.plain = torch.ones(4)

    def forward(self, x: torch.Tensor, more: dict[str, torch.Tensor]) -> torch.Tensor:
        held = self.linear(x) * self.several[0] * self.named["a b"] * self.scale
        return held * self.plain * more["given"]


@pytest.mark.parametrize(
    ("source", "name", "path"),
    [
        ("L['x']", "x", None),
        ("L['self'].plain", "self.plain", None),
        ("L['more']['given']", "more['given']", None),
        ("L['self']._parameters['scale']", "self.scale", "self.scale"),
        ("G['net']._modules['a']._buffers['n']", "net.a.n", "net.a.n"),
        ("L['self']._modules['0']._modules['1'].plain", "self.0.1.plain", None),
        ("G['__builtins_dict___2']['x']", None, None),
        ("___from_numpy(L['x'])", None, None),
        (f"L['self']._parameters['{'long' * 60}']", None, None),
        ("", None, None),
    ],
)
def test_the_names_of_inputs(source: str, name: str | None, path: str | None) -> None:
    assert (program_name(source), path_in_module(source)) == (name, path)


@pytest.mark.slow
def test_inputs_that_are_state_are_listed_with_their_paths(store: Store) -> None:
    _any.compiler.reset()
    step = _any.compile(Held(), backend="eager", fullgraph=True)
    step(torch.ones(2, 4), {"given": torch.ones(4)})

    ((_, listing),) = listings_in(store).items()
    inputs = [one for one in listing.nodes if one.opcode == "placeholder"]
    details = {one.detail for one in inputs}
    paths = {"linear.weight", "several.0", "named.a b", "scale"}
    assert details == {None, *(f"self.{path}" for path in paths)}
    assert len(inputs) == 7
