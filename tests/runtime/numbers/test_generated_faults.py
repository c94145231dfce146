"""Faults that chance plants in the passes of small models are found, or nothing is said.

A wrong answer fails the test. Answers that are missing are counted apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from fxls.verdicts.comparison import Kind
from tests.runtime.numbers.looking import (
    COMPILING,
    Attention,
    Normed,
    Numbers,
    Perceptron,
    any_torch,
    aten,
    config,
)
from tests.runtime.numbers.tally import Planted, Tally, is_named

pytestmark = COMPILING

_COUNT = 40
_HOOKS = {
    "joint": "joint_custom_post_pass",
    "post-grad": "post_grad_custom_post_pass",
}
_ORDERED = (aten.sub.Tensor, aten.div.Tensor, aten.where.self)
_UNARY = {
    aten.relu.default: aten.abs.default,
    aten.sigmoid.default: aten.tanh.default,
    aten.exp.default: aten.cos.default,
    aten.erf.default: aten.sin.default,
    aten.add.Tensor: aten.sub.Tensor,
    aten.mul.Tensor: aten.add.Tensor,
}


_REDUCTIONS = {
    aten.sum.dim_IntList: aten.mean.dim,
    aten.mean.dim: aten.sum.dim_IntList,
    aten.amax.default: aten.amin.default,
    aten.gt.Scalar: aten.lt.Scalar,
    aten.le.Scalar: aten.gt.Scalar,
    aten.scatter_add.default: aten.scatter.src,
}


class Averaging(nn.Module):
    """It overwrites two buffers of the same shape, and reads one of them."""

    average: torch.Tensor
    square: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("average", torch.zeros(8))
        self.register_buffer("square", torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        with torch.no_grad():
            self.average.mul_(0.9).add_(y.mean((0, 1)) * 0.1)
            self.square.mul_(0.9).add_(y.square().mean((0, 1)) * 0.1)
        return torch.tanh((y - y.mean(-1, keepdim=True)) / (self.square.sqrt() + 1.0))


class Gathering(nn.Module):
    """It sums rows that come to the same place, and takes the largest of others."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = functional.leaky_relu(self.linear(x)).flatten(0, 1)
        places = torch.arange(rows.shape[0], device=x.device) // 3 % 4
        summed = torch.zeros(4, 8).scatter_add(0, places[:, None].expand(-1, 8), rows)
        top = rows.amax(0)
        return torch.sigmoid(summed[places] * 0.5 + top - rows)


MODELS: Sequence[Callable[[], Any]] = (
    *(Perceptron, Attention, Normed, Averaging, Gathering),
)


class Chance:
    """A pass that plants one fault, in the graph of the half that it is told."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.backward = chance.random() < 0.5
        self.planted: Planted | None = None

    def __call__(self, graph: Any) -> None:
        is_backward = any(node.name.startswith("tangents") for node in graph.nodes)
        kinds = [
            *(self.swap, self.change, self.drop, self.call_another, self.reduce),
            *(self.round, self.shift, self.scale, self.lose),
        ]
        if self.planted is None and is_backward == self.backward:
            self.chance.shuffle(kinds)
            for kind in kinds:
                self.planted = self.planted or kind(graph)

    def swap(self, graph: Any) -> Planted | None:
        node = self.one(graph, lambda one: one.target in _ORDERED)
        if node is None or not all(hasattr(a, "meta") for a in node.args[-2:]):
            return None
        one, other = node.args[-2:]
        if one is other or one.meta["val"].shape != other.meta["val"].shape:
            return None
        node.args = (*node.args[:-2], other, one)
        return Planted("swap", (node.name,))

    def change(self, graph: Any) -> Planted | None:
        def has_constant(one: Any) -> bool:
            return one.target in (aten.mul.Tensor, aten.add.Tensor) and isinstance(
                one.args[1], float
            )

        node = self.one(graph, has_constant)
        if node is None:
            return None
        node.args = (node.args[0], node.args[1] * 1.5 + 0.1)
        return Planted("change", (node.name,))

    def drop(self, graph: Any) -> Planted | None:
        def may_go(one: Any) -> bool:
            first: Any = one.args[0] if one.args else None
            return (
                one.target is aten.add.Tensor
                and hasattr(first, "meta")
                and first.meta["val"].shape == one.meta["val"].shape
            )

        node = self.one(graph, may_go)
        if node is None:
            return None
        node.replace_all_uses_with(node.args[0])
        graph.erase_node(node)
        return Planted("drop", (node.name,))

    def call_another(self, graph: Any) -> Planted | None:
        node = self.one(graph, lambda one: one.target in _UNARY)
        if node is None:
            return None
        node.target = _UNARY[node.target]
        return Planted("call another", (node.name,))

    def reduce(self, graph: Any) -> Planted | None:
        def fits(one: Any) -> bool:
            return (
                one.target in _REDUCTIONS
                and one.args[0].meta["val"].is_floating_point()  # as a mean is of these
            )

        node = self.one(graph, fits)
        if node is None:
            return None
        node.target = _REDUCTIONS[node.target]
        return Planted("reduce", (node.name,))

    def round(self, graph: Any) -> Planted | None:
        convert = any_torch.ops.prims.convert_element_type.default
        return self.put_behind(
            graph, "round", (convert, (torch.bfloat16,)), (convert, (torch.float32,))
        )

    def shift(self, graph: Any) -> Planted | None:
        return self.put_behind(graph, "shift", (aten.roll.default, ([1], [-1])))

    def scale(self, graph: Any) -> Planted | None:
        return self.put_behind(graph, "scale", (aten.mul.Tensor, (1.02,)))

    def lose(self, graph: Any) -> Planted | None:
        """A write to a buffer, which is the last that is done to it."""
        node = self.one(graph, lambda one: one.target is aten.copy_.default)
        if node is None or node.users:
            return None
        graph.erase_node(node)
        return Planted("lose", (node.name,))

    def put_behind(self, graph: Any, what: str, *calls: Any) -> Planted | None:
        """Let all who read a value read what these calls make of it."""

        def fits(one: Any) -> bool:
            value = one.meta.get("val")
            return (
                isinstance(value, torch.Tensor)
                and value.dtype is torch.float32
                and value.dim() > 1
                and value.shape[-1] > 1
                and "copy" not in str(one.target)
            )

        node = self.one(graph, fits)
        if node is None:
            return None
        users, last, made = [*node.users], node, list[str]()
        for target, more in calls:
            with graph.inserting_after(last):
                last = graph.call_function(target, (last, *more))
            last.meta["val"] = target(node.meta["val"], *more)
            made.append(last.name)
        for user in users:
            user.replace_input_with(node, last)
        return Planted(what, tuple(made))

    def one(self, graph: Any, fits: Callable[[Any], bool]) -> Any:
        found = [one for one in graph.nodes if one.op == "call_function" and fits(one)]
        return self.chance.choice(found) if found else None


def results(model: Any, inputs: torch.Tensor, run: Any) -> Sequence[torch.Tensor]:
    """What a training step computes: the output, all gradients, and the buffers."""
    model.zero_grad(set_to_none=True)
    inputs.grad = None
    out = run()
    leaves = [*model.parameters(), inputs]
    gradients = [one.grad for one in leaves if one.grad is not None]
    return [out.detach(), *gradients, *(one.clone() for one in model.buffers())]


def test_planted_faults_are_found_or_nothing_is_said(numbers: Numbers) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    tally = planted(numbers, seed, _COUNT)

    said = (seed, tally.right, tally.harmless, tally.open)
    assert tally.wrong == [], said
    assert len(tally.open) <= 0.2 * _COUNT, said
    assert tally.right >= 0.5 * _COUNT, said


def planted(numbers: Numbers, seed: int, count: int) -> Tally:
    """Plant so many faults, each in a model, a step and a half that chance chooses."""
    chance, tally = random.Random(seed), Tally()
    any_torch.manual_seed(seed)
    while tally.count < count:
        model = chance.choice(MODELS)()
        inputs = torch.randn(2, 4, 8, requires_grad=True)
        wrong, hook = Chance(chance), _HOOKS[chance.choice([*_HOOKS])]
        state = {name: value.clone() for name, value in model.state_dict().items()}
        eager = results(model, inputs, lambda m=model, i=inputs: _stepped(m, i))
        model.load_state_dict(state)
        numbers.forget()
        with config.patch({hook: wrong}):
            compiled = results(
                model, inputs, lambda m=model, i=inputs: numbers.run(m, i)
            )
        if wrong.planted is None:
            continue  # there is nothing in this graph that it could change
        pairs = zip(eager, compiled, strict=True)
        off = max(float((a - b).abs().max() / a.abs().max()) for a, b in pairs)
        case = (hook, wrong.backward, wrong.planted)
        found = numbers.found()
        first = found.faults[0] if found.faults else None
        if first is not None and first.kind is Kind.UNKNOWN:
            first = None  # somebody is at fault, and nobody says who
        is_right = (
            first is not None and first.name == hook and is_named(first, wrong.planted)
        )
        tally.take((case, found.unseen), first, off, is_right=is_right)
    return tally


def _stepped(model: Any, inputs: torch.Tensor) -> torch.Tensor:
    out = model(inputs)
    out.square().sum().backward()
    return out
