"""Faults that chance plants in what Dynamo captures are found, or nothing is said."""

from __future__ import annotations

import importlib
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from fxls.verdicts.comparison import Kind
from tests.runtime.numbers.looking import COMPILING, Numbers, any_torch
from tests.runtime.numbers.tally import Planted, Tally, is_named

pytestmark = COMPILING

output_graph: Any = importlib.import_module("torch._dynamo.output_graph")

_COUNT = 40
_OTHERS: dict[Any, Any] = {
    operator.add: operator.sub,
    operator.mul: operator.add,
    operator.sub: operator.mul,
    torch.relu: torch.abs,
    torch.tanh: torch.sin,
    torch.sigmoid: torch.cos,
    functional.gelu: functional.silu,
    functional.silu: torch.exp,
    torch.exp: torch.tanh,
}


class Looping(nn.Module):
    """It calls one line again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        for at in range(4):
            total = total + torch.tanh(self.linear(x)) * (at + 1)
            x = functional.silu(x - total)
        return total * x


class Writing(nn.Module):
    """It changes values in place, also by views."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = torch.exp(self.first(x)) * 0.1
        kept[0] = torch.sigmoid(x[1])
        kept[:, 1:3].mul_(2.0)
        kept += self.second(x)
        return (kept * x + 1.0).sum(-1)


class Choosing(nn.Module):
    """It calls functions of its own, some of them twice, and returns several values."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(8, 8), nn.LayerNorm(8)])

    def gate(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x) * x + 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [self.gate(part(x)) for part in self.parts]
        one, other = (functional.gelu(value) for value in values)
        return torch.relu(one - other) * self.gate(x).mean(-1, keepdim=True)


MODELS: Sequence[Callable[[], Any]] = (Looping, Writing, Choosing)


class Chance:
    """A Dynamo that makes one mistake in its graph."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.planted: Planted | None = None

    def plant(self, graph: Any) -> None:
        kinds = [self.change, self.call_another, self.drop, self.swap, self.read]
        self.chance.shuffle(kinds)
        for kind in kinds:
            self.planted = self.planted or kind(graph)

    def change(self, graph: Any) -> Planted | None:
        node = self.one(graph, lambda one: isinstance(one.args[-1], float | int))
        if node is None:
            return None
        node.args = (*node.args[:-1], node.args[-1] * 2 + 1)
        return Planted("change", (node.name,))

    def call_another(self, graph: Any) -> Planted | None:
        node = self.one(graph, lambda one: one.target in _OTHERS)
        if node is None:
            return None
        node.target = _OTHERS[node.target]
        return Planted("call another", (node.name,))

    def drop(self, graph: Any) -> Planted | None:
        node = self.one(
            graph, lambda one: one.target in (operator.add, torch.tanh, torch.relu)
        )
        if node is None:
            return None
        readers = tuple(one.name for one in node.users)
        node.replace_all_uses_with(node.args[0])
        graph.erase_node(node)
        return Planted("drop", readers)

    def swap(self, graph: Any) -> Planted | None:
        node = self.one(graph, lambda one: one.target is operator.sub)
        if node is None or len(node.all_input_nodes) != 2:
            return None
        node.args = node.args[::-1]
        return Planted("swap", (node.name,))

    def read(self, graph: Any) -> Planted | None:
        """Let a node read what another one of the same kind reads."""
        node = self.one(graph, lambda one: one.target in _OTHERS)
        if node is None:
            return None
        others = [one for one in graph.nodes if one.target is node.target]
        before = [one for one in others if one < node and one.args[0] != node.args[0]]
        if not before:
            return None
        node.args = (self.chance.choice(before).args[0], *node.args[1:])
        return Planted("read", (node.name,))

    def one(self, graph: Any, fits: Callable[[Any], bool]) -> Any:
        found = [
            one
            for one in graph.nodes
            if one.op == "call_function"
            and one.target is not operator.getitem
            and one.args
            and fits(one)
        ]
        return self.chance.choice(found) if found else None


def test_planted_faults_are_found_or_nothing_is_said(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    tally = planted(numbers, monkeypatch, seed, _COUNT)

    said = (seed, tally.right, tally.harmless, tally.open)
    assert tally.wrong == [], said
    assert len(tally.open) <= 0.2 * _COUNT, said
    assert tally.right >= 0.5 * _COUNT, said


def planted(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch, seed: int, count: int
) -> Tally:
    """Plant so many faults, each in a model that chance chooses."""
    chance, tally = random.Random(seed), Tally()
    any_torch.manual_seed(seed)
    clean = output_graph.OutputGraph.cleanup_graph
    while tally.count < count:
        model, x = chance.choice(MODELS)(), torch.randn(4, 8)
        wrong = Chance(chance)

        def cleaned(output: Any, wrong: Chance = wrong) -> None:
            clean(output)
            wrong.plant(output.graph)

        numbers.forget()
        eager = model(x.clone()).detach()
        with monkeypatch.context() as patched:
            patched.setattr(output_graph.OutputGraph, "cleanup_graph", cleaned)
            compiled = numbers.run(model, x, backend="eager", backward=False).detach()
        if wrong.planted is None:
            continue
        off = float((eager - compiled).abs().max() / eager.abs().max())
        found = numbers.found()
        first = found.faults[0] if found.faults else None
        is_right = (
            first is not None
            and first.kind is Kind.CAPTURE
            and is_named(first, wrong.planted)
        )
        case = (wrong.planted, found.unseen)
        tally.take(case, first, off, is_right=is_right)
    return tally
