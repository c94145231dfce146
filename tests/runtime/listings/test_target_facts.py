"""What a listing says of the things that its nodes call."""

from __future__ import annotations

import importlib
import operator
from pathlib import Path

import torch
import torch.fx
from torch import nn

from fxls.engine import Graph, GraphModule, symbolic_trace, wrap
from fxls.engine.traceback import NodeSource, NodeSourceAction
from fxls.listing import Listing, Target
from fxls.runtime import listing_of
from fxls.runtime.listings.target_facts import passes_of

HERE = __file__


class Odd:
    def __repr__(self) -> str:
        raise AssertionError("a default is never written by its own repr")


ODD = Odd()


def helper(
    x: torch.Tensor, scale: float = 2.0, *more: int, odd: Odd = ODD
) -> torch.Tensor:
    return x * scale


wrap("helper")


class Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = Part()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = helper(self.part(x).view(-1))
        return torch.flatten(x) + 1


def targets(listing: Listing) -> dict[str, Target]:
    return {
        facts.name: listing.targets[facts.call]
        for facts in listing.nodes
        if facts.call is not None
    }


def test_targets_have_name_signature_and_place() -> None:
    lines = Path(HERE).read_text("utf-8").split("\n")
    at = lines.index("def helper(")
    found = targets(listing_of(symbolic_trace(Net())))

    assert list(found) == ["part_fc", "view", "helper", "flatten", "add"]
    linear = found["part_fc"]
    assert (linear.name, linear.signature) == ("torch.nn.Linear", "(input)")
    assert linear.file == torch.nn.modules.linear.__file__
    assert found["view"] == Target("torch.Tensor.view", "(*shape) -> Tensor")
    assert found["helper"] == Target(
        f"{helper.__module__}.helper", "(x, scale=2.0, *more, odd=...)", HERE, at
    )
    assert found["flatten"] == Target(
        "torch.flatten", "(input, start_dim=0, end_dim=-1) -> Tensor"
    )
    assert found["add"] == Target("operator.add", "(a, b, /)")


def test_modules_say_their_file_and_their_parameters() -> None:
    listing = listing_of(symbolic_trace(Net()))

    assert [(s.path, s.file, s.parameters) for s in listing.scopes] == [
        ("part", HERE, 16),
        ("part.fc", torch.nn.modules.linear.__file__, 16),
    ]


def test_a_node_that_nobody_reads_says_whether_it_does_anything() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.relu, (x,))
    graph.call_function(operator.setitem, (x, 0, 1))
    graph.call_module("part", (x,))
    graph.output(x)

    nodes = listing_of(nn.Module(), graph).nodes

    assert [facts.impure for facts in nodes] == [False, False, True, True, True]


def test_a_node_says_which_passes_made_it() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.relu, (x,))
    relu.meta["from_node"] = [NodeSource(x, "first", NodeSourceAction.CREATE)]
    tanh = graph.call_function(torch.tanh, (relu,))
    tanh.meta["from_node"] = [NodeSource(relu, "second", NodeSourceAction.REPLACE)]
    graph.output(tanh)

    nodes = listing_of(GraphModule(nn.Module(), graph)).nodes

    assert [facts.passes for facts in nodes] == [
        (),
        ("first",),
        ("second", "first"),
        (),
    ]


def test_an_interpreter_of_torch_is_no_pass_and_one_of_the_users_has_its_name() -> None:
    class Doubling(torch.fx.Interpreter):
        pass

    # It has one of those that torch itself runs.
    importlib.import_module("torch.fx.experimental.symbolic_shapes")
    for name, expected in (
        ("Interpreter_PropagateUnbackedSymInts", ()),
        ("Interpreter_Interpreter", ()),
        (f"Interpreter_{Doubling.__name__}", ("Doubling",)),
        ("split", ("split",)),
    ):
        node = Graph().placeholder("x")
        note = NodeSource(node, name, NodeSourceAction.CREATE)
        node.meta["from_node"] = [note]
        assert passes_of(node.meta, {}) == expected
