"""Graphs that torch makes of another one, or of what runs, know where they came from."""

from __future__ import annotations

import copy
import itertools
from typing import Any, cast

import pytest
import torch
from torch.export import experimental
from torch.fx.experimental import proxy_tensor
from torch.fx.passes import split_module as splitting

import fxls
from fxls.listing import Identity, Parent
from fxls.store import Store
from tests.runtime.producers.looking import (
    MODULE,
    listing_in,
    listings_in,
    path_of,
    sources,
)
from tests.runtime.producers.torch_nets import Block, Net

fx: Any = torch.fx
make_fx: Any = proxy_tensor.make_fx
split: Any = splitting.split_module
exporting: Any = torch.export
with_backward: Any = cast("Any", experimental)._export_forward_backward

RETURNED = "return torch.relu(x) * 2 + x"


class Slower(fx.Transformer):  # pyright: ignore[reportUntypedBaseClass]  # torch's is
    """Writes one node as two."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        record: Any = fx.Transformer.call_function
        if target is torch.relu:
            negated = record(self, torch.neg, args, kwargs)
            return record(self, torch.tanh, (negated,), {})
        return record(self, target, args, kwargs)


def test_what_a_transformer_records_comes_from_the_node_that_it_runs(
    store: Store,
) -> None:
    module = fx.symbolic_trace(Block())
    for made in (
        Slower(module).transform(),
        Slower(Slower(module).transform()).transform(),
    ):
        listing = listing_in(store, made)
        assert listing.identity == Identity(MODULE, "Block", "torch.fx")
        (*_, first) = listing.parents
        assert first == Parent(listing.identity, path_of(module).name)
        assert sources(listing) == {
            "x": "x",
            "neg": "torch.relu(x)",
            "tanh": "torch.relu(x)",
            "mul": "torch.relu(x) * 2",
            "add": "torch.relu(x) * 2 + x",
            "output": RETURNED,
        }


def test_a_transformer_is_as_it_was_behind_its_run(store: Store) -> None:
    class Failing(fx.Transformer):  # pyright: ignore[reportUntypedBaseClass]  # torch's is
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            raise ValueError("not this one")

    transformer = Failing(fx.symbolic_trace(Block()))
    with pytest.raises(ValueError, match="not this one"):
        transformer.transform()
    assert "run_node" not in vars(transformer)


def test_parts_of_a_split_module_are_stages_of_it(store: Store) -> None:
    counted = itertools.count()
    module = fx.symbolic_trace(Net())

    def part_of(_node: Any) -> int:
        return next(counted) // 4

    parts = split(module, None, part_of)
    x = torch.ones(2, 4)
    assert torch.equal(parts(x), module(x))

    found = listings_in(store)
    names = ["", "submod_0", "submod_1"]
    assert list(found) == [("Net", "torch.fx", name) for name in names]
    whole, first, second = found.values()
    assert sources(first) == {
        "x": "x",
        "linear": "self.linear(x)",
        "relu": "torch.relu(x)",
        "mul": "torch.relu(x) * 2",
        "add": "torch.relu(x) * 2 + x",
    }
    assert sources(second) == {
        "add": "torch.relu(x) * 2 + x",
        "shift": "self.shift",
        "add_1": "hidden + self.shift",
        "sum_1": "(hidden + self.shift).sum(dim=1)",
    }
    assert sources(whole) == {
        "x": "x",
        "shift": "self.shift",
        "submod_0": "torch.relu(x) * 2 + x",
        "submod_1": "(hidden + self.shift).sum(dim=1)",
        "output": "return (hidden + self.shift).sum(dim=1)",
    }
    assert path_of(parts).name == store.path_of("Net", whole.text).name
    given = Parent(Identity(MODULE, "Net", "torch.fx"), path_of(module).name)
    assert [listing.parents for listing in found.values()] == [(given,)] * 3


def test_a_copy_that_is_changed_has_the_original_as_its_parent(store: Store) -> None:
    module = fx.symbolic_trace(Block())
    same, other = copy.deepcopy(module), copy.deepcopy(module)
    (relu,) = other.graph.find_nodes(op="call_function", target=torch.relu)
    relu.target = torch.tanh
    other.recompile()

    original = Parent(Identity(MODULE, "Block", "torch.fx"), path_of(module).name)
    assert listing_in(store, same).parents == ()
    assert listing_in(store, other).parents == (original,)


def loss(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * x).sum()


def test_what_make_fx_records_comes_from_the_lines_that_run(store: Store) -> None:
    listing = listing_in(store, make_fx(loss)(torch.ones(2)))
    assert listing.identity == Identity(__name__, "loss", "torch.fx")
    assert sources(listing) == {
        "x_1": "x",
        "sin": "x.sin()",
        "mul": "x.sin() * x",
        "sum_1": "(x.sin() * x).sum()",
    }


def test_stack_traces_that_make_fx_is_asked_for_stay_what_it_notes(
    store: Store,
) -> None:
    def noted() -> list[str | None]:
        made = make_fx(Block(), record_stack_traces=True)(torch.ones(2))
        return [node.stack_trace for node in made.graph.nodes]

    under = noted()
    fxls.uninstall()
    assert under == noted()
    assert any(under)


@pytest.mark.slow
# torch's own, where it copies a program.
@pytest.mark.filterwarnings("ignore:`isinstance.treespec:FutureWarning")
def test_no_tensor_lives_longer_while_a_graph_is_recorded(store: Store) -> None:
    """Autograd copies a gradient that somebody else holds, which the graph would show."""

    def joint() -> str:
        program = exporting.export(Summing(), (torch.ones(3, 4),))
        return with_backward(program).graph_module.code

    under = joint()
    fxls.uninstall()
    assert under == joint()


class Summing(torch.nn.Module):
    """A loss, as torch wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).sum()
