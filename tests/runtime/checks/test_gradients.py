"""The node whose backward makes a NaN is the one that torch's anomaly mode names."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.attempt import attempt
from fxls.runtime.checks.forward_run import ForwardRun
from fxls.store import Store
from tests.runtime.checks.gradient_cases import models

fx: Any = torch.fx

TRACERS = [
    pytest.param(engine.symbolic_trace, id="engine"),
    pytest.param(fx.symbolic_trace, id="torch.fx"),
]
Trace = Callable[[nn.Module], Any]


@pytest.mark.slow
@pytest.mark.parametrize("trace", TRACERS)
def test_the_line_is_the_one_that_anomaly_mode_names(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Trace
) -> None:
    known: dict[str, str | None] = {}
    found: dict[str, str | None] = {}
    for case, make in models().items():
        gm = trace(make())
        known[case] = named_by_torch(gm)
        fxls.break_on("grad-nan")
        run_backward(gm)
        fxls.break_on()
        found[case] = named_by_fxls(gm, capfd.readouterr().err)
    assert found == known
    planted = sum(line is not None for line in known.values())
    assert (len(known), planted) == (114, 104), "the numbers in docs/debugging.md"


def run_backward(gm: Any) -> None:
    x = torch.tensor([0.5, 1.5, -1.0, 2.0], requires_grad=True)
    gm.zero_grad()
    gm(x).sum().backward()


def named_by_torch(gm: Any) -> str | None:
    """The line of a listing whose node anomaly mode finds to make the first NaN."""
    anomaly: Any = cast("Any", torch).autograd.detect_anomaly
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with anomaly():
            error = attempt(lambda: run_backward(gm))
    if error is None:
        return None
    assert "returned nan values" in str(error)
    said = "".join(str(one.message) for one in caught)
    path = gm.forward.__code__.co_filename
    lines = re.findall(rf'File "{re.escape(path)}", line (\d+)', said)
    return line_of(path, int(lines[-1]))


def named_by_fxls(gm: Any, reports: str) -> str | None:
    """The line that the first report names."""
    found = re.search(
        r"^fxls: grad-nan: node \w+ of \w+, line (\d+) of ", reports, re.M
    )
    path = gm.forward.__code__.co_filename
    return None if found is None else line_of(path, int(found[1]))


def line_of(path: str, line: int) -> str:
    return Path(path).read_text("utf-8").splitlines()[line - 1].strip()


class Adding(nn.Module):
    """Its parameter gets an infinite gradient of each sign."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (torch.sqrt(self.weight) - torch.sqrt(self.weight)).sum() + x.sum()


def test_a_sum_of_infinite_gradients_names_one_of_these(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    gm: Any = fx.symbolic_trace(Adding())
    fxls.break_on("grad-nan")
    gm(torch.ones(2)).backward()
    assert gm.weight.grad.isnan().all()
    said = capfd.readouterr().err.splitlines()[0]
    assert re.sub(r" line \d+ of \w+\.py", "", said) == (
        "fxls: grad-nan: node sqrt_1 of Adding,: it gives weight an infinite gradient,"
        " and the sum with those of others is NaN: 2 of 2 are NaN"
    )


HANDED_ON: dict[str, Callable[[Any], Any]] = {
    "a view": lambda v: v.view(-1),
    "views": lambda v: v.t().reshape(-1),
    "a sum": lambda v: v + 0.0,
    "a difference": lambda v: v.expand(2, 2) - 0.0,
    "a quotient": lambda v: v / 2 * 4,
    "two parts": lambda v: torch.cat([v, v]),
}


class AddingParts(nn.Module):
    """A value, and a parameter, that get infinite gradients of both signs on ways."""

    def __init__(self, way: Callable[[Any], Any], *, of_parameter: bool) -> None:
        super().__init__()
        self.way = way
        self.weight = nn.Parameter(torch.zeros(2, 2)) if of_parameter else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        summed = x * 0 if self.weight is None else self.weight
        one, two = self.way(summed), self.way(summed)
        return (torch.sqrt(one) - torch.sqrt(two)).sum() + x.sum()


@pytest.mark.parametrize("way", HANDED_ON.values(), ids=HANDED_ON)
def test_infinite_gradients_are_followed_to_where_they_are_added_up(
    store: Store, capfd: pytest.CaptureFixture[str], way: Callable[[Any], Any]
) -> None:
    """None of the nodes that hand them on is named, and nobody outside."""
    infinite = "the gradients that its users give it are infinite"
    fxls.break_on("grad-nan")
    for of_parameter in (False, True):
        gm: Any = fx.symbolic_trace(AddingParts(way, of_parameter=of_parameter))
        gm(torch.ones(2, 2, requires_grad=True)).backward()
    assert re.findall(
        r"^fxls: \S+ node (\w+) of .*\.py: (.*): \d of 4 are NaN$",
        capfd.readouterr().err,
        re.M,
    ) == [
        ("mul", f"{infinite}, and their sum is NaN"),
        (
            "sqrt_1",
            "it gives weight an infinite gradient, and the sum with those of others is NaN",
        ),
    ]


class Filling(nn.Module):
    """Values that nothing made, until they are changed in place."""

    def forward(self, x: Any) -> Any:
        sums = x.detach().new_zeros(4)
        sums.add_(x.sum())
        parts = x.detach().new_zeros(4)
        parts[:2].copy_(x)
        return (sums * parts).sum()


def test_a_run_lives_no_longer_than_the_values_of_the_program(store: Store) -> None:
    """The graph of autograd, its hooks, and what they hold would be a cycle that no
    collector sees.
    """
    gm: Any = fx.symbolic_trace(Filling())
    before = runs()
    fxls.break_on("grad-nan")
    x = torch.ones(2, requires_grad=True)
    for _ in range(3):
        gm(x).backward()
        gm(x)
    assert len(runs() - before) <= 1, "the last one of this thread"


def runs() -> set[ForwardRun]:
    gc.collect()
    return {one for one in gc.get_objects() if type(one) is ForwardRun}


class Inner(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(x * 0)


class Outer(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        return (self.inner(y) + y).sum()


@pytest.mark.parametrize("kind", [engine, fx])
def test_the_listing_that_calls_another_is_not_named_for_it(
    store: Store, capfd: pytest.CaptureFixture[str], kind: Any
) -> None:
    class Keeping(kind.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

    outer = Outer(kind.symbolic_trace(Inner()))
    gm = kind.GraphModule(outer, Keeping().trace(outer))
    fxls.break_on("grad-nan")
    gm(torch.ones(2, requires_grad=True)).backward()
    assert re.findall(
        r"^fxls: \S+ node (\w+) of (\w+)", capfd.readouterr().err, re.M
    ) == [("mul", "Inner")]


@pytest.mark.parametrize(
    "way", [*HANDED_ON.values(), torch.sin], ids=[*HANDED_ON, "a sine"]
)
def test_a_gradient_from_outside_is_said_to_come_to_what_was_returned(
    store: Store, capfd: pytest.CaptureFixture[str], way: Callable[[Any], Any]
) -> None:
    def returning(x: Any) -> Any:
        inner = torch.sin(x)
        value = way(inner)
        return value, value.sum()

    gm: Any = fx.symbolic_trace(returning)
    fxls.break_on("grad-nan")
    value, summed = gm(torch.ones(2, 2, requires_grad=True))
    torch.autograd.backward([value, summed], [value * torch.nan, torch.tensor(1.0)])
    (returned,) = (node for node in gm.graph.nodes if node.op == "output")
    assert re.findall(
        r"^fxls: \S+ node (\w+) of .*\.py: (.*): \d of \d are NaN$",
        capfd.readouterr().err,
        re.M,
    ) == [
        (
            returned.args[0][0].name,
            "the gradient that comes to it from outside is bad",
        )
    ]


def test_a_second_backward_finds_what_is_new(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    """A NaN that came from outside the first time is nobody's excuse the second time."""
    gm: Any = fx.symbolic_trace(Inner())
    fxls.break_on("grad-nan")
    y = gm(torch.ones(1, requires_grad=True))
    y.backward(torch.tensor([torch.nan]), retain_graph=True)
    y.backward()
    found = re.findall(
        r"^fxls: \S+ node (\w+) of .*\.py: (.*)$", capfd.readouterr().err, re.M
    )
    assert found == [
        ("sqrt", "the gradient that comes to it from outside is bad: 1 of 1 is NaN"),
        ("mul", "its backward makes a gradient of x, of which 1 of 1 is NaN"),
    ]
