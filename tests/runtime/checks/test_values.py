"""The nodes that are found are those whose values have a NaN that none of their inputs
has, whatever parts of values they work on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.store import Store

fx: Any = torch.fx


@pytest.mark.parametrize("kind", [engine, fx])
def test_random_programs(
    store: Store, capfd: pytest.CaptureFixture[str], kind: Any
) -> None:
    planted = 0
    for seed in range(60):
        gm = kind.symbolic_trace(Steps(seed))
        known = made_by(kind, gm, torch.ones(2, 6))
        fxls.break_on("nan")
        gm(torch.ones(2, 6))
        fxls.break_on()
        assert found_in(capfd.readouterr().err) == known, gm.code
        planted += bool(known)
    assert planted > 40


class Pair:
    """A value of the user's whose items are computed when they are asked for."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x = x

    def __getitem__(self, i: int) -> torch.Tensor:
        return self.x / (i - 1)

    def view(self, *_sizes: int) -> torch.Tensor:
        return self.x / 0


class Asking(nn.Module):
    def forward(self, pair: Any) -> Any:
        return pair[0].view(-1) + pair[1].view(-1), pair.view(2)


class AskingInside(nn.Module):
    def forward(self, pairs: Any) -> Any:
        return pairs[0][0].view(-1) + pairs[0][1].view(-1), pairs[0].view(2)


@pytest.mark.parametrize(
    ("model", "given", "found"),
    [
        (Asking(), Pair(torch.zeros(2)), ["getitem_1", "view_2"]),
        (AskingInside(), [Pair(torch.zeros(2))], ["getitem_3", "view_2"]),
    ],
)
def test_what_a_users_value_computes_when_it_is_asked(
    store: Store,
    capfd: pytest.CaptureFixture[str],
    model: nn.Module,
    given: Any,
    found: list[str],
) -> None:
    gm: Any = fx.symbolic_trace(model)
    fxls.break_on("nan")
    gm(given)
    assert found_in(capfd.readouterr().err) == found


def test_numbers_that_are_read_as_those_of_another_type(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    def reads(x: Any) -> Any:
        return x.view(torch.float32) + 1

    gm: Any = fx.symbolic_trace(reads)
    fxls.break_on("nan")
    gm(torch.tensor([0x7FC00000], dtype=torch.int32))
    assert found_in(capfd.readouterr().err) == ["view"]


def found_in(reports: str) -> list[str]:
    return re.findall(r"^fxls: nan: node (\w+) of ", reports, re.M)


def made_by(kind: Any, gm: Any, x: torch.Tensor) -> list[str]:
    """The nodes whose values have a NaN, and whose inputs have none."""
    bad: dict[str, bool] = {}
    found: list[str] = []

    interpreter: Any = kind.Interpreter

    class Looking(interpreter):
        def run_node(self, n: Any) -> Any:
            value: Any = interpreter.run_node(self, n)
            bad[n.name] = has_nan(value)
            if n.op != "output" and bad[n.name]:
                given = [one for one in n.all_input_nodes if bad[one.name]]
                found.extend([] if given else [n.name])
            return value

    Looking(gm).run(x)
    return found


def has_nan(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(has_nan, cast("list[Any]", value)))
    return isinstance(value, torch.Tensor) and bool(value.isnan().any())


_FINE: list[Callable[[Any], Any]] = [
    lambda v: v.contiguous().view(v.size(1), v.size(0)).reshape(2, 6),
    lambda v: v.reshape(3, 4).permute(1, 0).contiguous().view(2, -1),
    lambda v: v.t().reshape(2, 6),
    lambda v: torch.cat(v.split(3, 1)[::-1], 1),
    lambda v: torch.cat(v.chunk(2, 1), 1),
    lambda v: v[:, [5, 4, 3, 2, 1, 0]],
    lambda v: torch.stack(v.unbind()),
    lambda v: v.unsqueeze(0).expand(1, 2, 6).squeeze(0),
    lambda v: torch.tanh(v) * 0.5,
    lambda v: v.masked_fill(v > 3, 0.0).abs(),
    lambda v: v / v.shape[1],
    lambda v: v.double().float().view_as(v),
    lambda v: torch.nan_to_num(v),
]
_BAD: list[Callable[[Any], Any]] = [
    lambda v: (v.abs() * -1 - 1).sqrt(),
    lambda v: (v * 0) / (v * 0),
    lambda v: v.new_full((2, 6), float("nan")),
    lambda v: torch.full((6, 2), float("nan")).t(),
    lambda v: (
        v.reshape(6, 2)[:, :1].abs().neg().log().mul(0).expand(6, 2).reshape(2, 6)
    ),
]


class Steps(nn.Module):
    """Values that are made of one another; two steps may be planted."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        choose = random.Random(seed)
        planted = set(choose.sample(range(20), 2))
        self.steps = [
            (choose.choice(_BAD if i in planted else _FINE), choose.randrange(1, 4))
            for i in range(12)
        ]

    def forward(self, x: Any) -> Any:
        values = [x]
        for step, back in self.steps:
            values.append(step(values[max(0, len(values) - back)]))
        return sum(value.sum() for value in values)
