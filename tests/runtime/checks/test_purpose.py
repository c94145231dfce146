"""What is as somebody wanted it breaks no rule; what is bad already is said once."""

from __future__ import annotations

import operator
import re
from typing import Any, cast

import pytest
import torch
from torch import nn

import fxls
from fxls import engine
from fxls.rules import BrokenRule
from fxls.store import Store
from tests.runtime import broken_nets as nets

fx: Any = torch.fx
_any: Any = cast("Any", torch)


class Root(nn.Module):
    """Its backward is NaN where what its first layer gives is 0."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(x)
        n = h.square().sum(-1).sqrt()
        return self.b(torch.relu(h)).squeeze(-1) + n


def trained(gm: Any, net: Root, scaler: Any, bad_step: int) -> list[bool]:
    """Train with a scaler; whether it skipped each step."""
    optimizer = _any.optim.SGD(gm.parameters(), 1e-3)
    skipped: list[bool] = []
    for step in range(bad_step + 2):
        optimizer.zero_grad()
        x = torch.randn(16, 8)
        if step == bad_step:
            with torch.no_grad():
                net.a.bias.zero_()
            x[0] = 0
        with _any.autocast("cpu", dtype=torch.float16):
            out = gm(x)
        scaler.scale(out.float().mean()).backward()
        before = net.b.weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        skipped.append(bool((before == net.b.weight).all()))
    return skipped


@pytest.mark.parametrize("trace", [engine.symbolic_trace, fx.symbolic_trace])
def test_what_a_scaler_skips_is_no_finding_and_uses_none_up(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Any
) -> None:
    _any.manual_seed(0)
    net = Root()
    gm = trace(net)
    fxls.break_on("nan", "grad-nan")
    scaler = _any.amp.GradScaler("cpu", init_scale=2.0**30)
    skipped = trained(gm, net, scaler, bad_step=22)
    assert (skipped[0], skipped[22]) == (True, True)
    said = capfd.readouterr().err
    assert findings(said) == [
        (
            "grad-nan",
            "square",
            "its backward makes a gradient of a, of which 8 of 128 are NaN",
        )
    ]
    assert "  in call 23 of this forward\n" in said


def test_without_a_scaler_an_overflow_is_a_finding(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    _any.manual_seed(0)
    gm = fx.symbolic_trace(Root())
    fxls.break_on("grad-nan")
    with _any.autocast("cpu", dtype=torch.float16):
        out = gm(torch.randn(16, 8))
    (out.float().mean() * 2.0**30).backward()
    assert len(findings(capfd.readouterr().err)) == 1


def test_scalers_are_as_they_were_when_nobody_watches(store: Store) -> None:
    own = _any.amp.GradScaler.scale
    fxls.break_on("grad-nan")
    assert _any.amp.GradScaler.scale is not own
    fxls.break_on("nan")
    assert _any.amp.GradScaler.scale is own


class Masked(nn.Module):
    mask: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.triu(torch.full((4, 4), -torch.inf), 1))

    def forward(self, x: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
        scores = x + self.mask
        doubled = scores * 2
        filled = doubled.masked_fill(x > 9, float("-inf")) + more
        hidden = torch.full((4, 4), float("-inf")).triu(1) + filled
        return torch.softmax(hidden / 2, -1)


class Unread(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        room = torch.empty_like(x)
        part = room.view(-1)
        part.copy_(x.view(-1))
        return room * 2


class ReadsEmpty(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        room = torch.empty_like(x)
        return room + x


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(x)) * self.scale + self.scale


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(self.blocks(x))


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return torch.relu(self.norm(y + x)) + y


TRACERS = [engine.symbolic_trace, fx.symbolic_trace]


@pytest.mark.parametrize("trace", TRACERS)
def test_a_mask_is_data(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Any
) -> None:
    gm = trace(Masked())
    fxls.break_on("nan", "inf")
    mask = torch.zeros(4, 4)
    mask[0, 3] = -torch.inf
    gm(torch.ones(4, 4), mask)
    assert findings(capfd.readouterr().err) == []
    gm(torch.ones(4, 4) * torch.inf, torch.zeros(4, 4))
    assert findings(capfd.readouterr().err)[0] == ("inf", "x", "16 of 16 are infinite")


def test_a_mask_that_is_written_into_a_value_is_data(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_method("clone", (x,))
    graph.call_function(operator.setitem, (y, 0, float("-inf")))
    graph.output(graph.call_function(operator.mul, (y, 2)))
    gm = fx.GraphModule({}, graph)
    fxls.break_on("inf")
    assert gm(torch.ones(2)).tolist() == [-torch.inf, 2.0]
    assert findings(capfd.readouterr().err) == []


@pytest.mark.parametrize("trace", TRACERS)
def test_memory_that_nobody_has_read_is_no_value(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Any
) -> None:
    written, read = trace(Unread()), trace(ReadsEmpty())
    fxls.break_on("nan", "inf")
    # With this switch, torch fills such memory with NaN.
    _any.use_deterministic_algorithms(True)
    try:
        written(torch.ones(2, 2))
        read(torch.ones(2, 2))
    finally:
        _any.use_deterministic_algorithms(False)
    assert findings(capfd.readouterr().err) == [("nan", "add", "4 of 4 are NaN")]


@pytest.mark.parametrize("trace", TRACERS)
def test_what_is_bad_already_is_named_once_by_its_path(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Any
) -> None:
    net: Any = Blocks().eval()
    gm = trace(net)
    with torch.no_grad():
        net.blocks[1].scale.fill_(torch.nan)
        net.blocks[0].norm.running_var.fill_(torch.nan)
    fxls.break_on("nan")
    for _ in range(2):
        gm(torch.ones(2, 4))
    said = capfd.readouterr().err
    assert findings(said) == [
        (
            *("nan", "blocks_0_norm"),
            "the buffer blocks.0.norm.running_var is bad already: 4 of 4 are NaN",
        ),
        (
            *("nan", "blocks_1_scale"),
            "the parameter blocks.1.scale is bad already: 4 of 4 are NaN",
        ),
    ]
    assert re.findall(r"^  in .*$", said, re.M) == [
        "  in blocks.0.norm, in call 1 of this forward",
        "  in blocks.1, in call 1 of this forward",
    ]


@pytest.mark.parametrize("trace", TRACERS)
def test_what_is_bad_already_is_not_named_again_when_rules_are_set_again(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Any
) -> None:
    net: Any = Blocks().eval()
    another: Any = Blocks().eval()
    gm, other = trace(net), trace(another)
    scale, variance = net.blocks[1].scale, net.blocks[0].norm.running_var
    with torch.no_grad():
        scale.fill_(torch.nan)
    fxls.break_on("nan")
    gm(torch.ones(2, 4))
    assert paths(capfd) == ["the parameter blocks.1.scale"]
    fxls.break_on("nan", "inf")
    gm(torch.ones(2, 4))
    assert paths(capfd) == []
    # What is bad since then, of another module, or in another way, is said.
    variance.fill_(torch.nan)
    with torch.no_grad():
        scale.fill_(torch.inf)
        another.blocks[1].scale.fill_(torch.nan)
    fxls.break_on("nan", "inf")
    gm(torch.ones(2, 4))
    other(torch.ones(2, 4))
    assert paths(capfd) == [
        "the buffer blocks.0.norm.running_var",
        "the parameter blocks.1.scale",
        "the parameter blocks.1.scale",
    ]
    fxls.break_on("nan", on_break="raise")
    with pytest.raises(BrokenRule, match=r"the buffer blocks\.0\.norm\.running_var"):
        gm(torch.ones(2, 4))


@pytest.mark.parametrize("trace", TRACERS)
@pytest.mark.parametrize("lower", [torch.float16, torch.bfloat16])
def test_the_dtypes_that_autocast_chooses_are_wanted(
    store: Store, capfd: pytest.CaptureFixture[str], trace: Any, lower: torch.dtype
) -> None:
    gm = trace(Mixed())
    fxls.break_on("dtype-change")
    with _any.autocast("cpu", dtype=lower):
        gm(torch.ones(2, 4))
    assert findings(capfd.readouterr().err) == []
    gm = trace(nets.Promoting())
    with _any.autocast("cpu", dtype=lower):
        gm(torch.ones(2))
    assert findings(capfd.readouterr().err) == [
        (
            "dtype-change",
            "add",
            "dtype float64, where its inputs are float32 and float64",
        )
    ]


def paths(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """What was reported since the last time as bad already."""
    return re.findall(r": (the \w+ [\w.]+) is bad already", capfd.readouterr().err)


def findings(said: str) -> list[tuple[str, ...]]:
    """Rule, node and words of each report."""
    return re.findall(
        r"^fxls: ([\w-]+): node (\w+) of \w+, line \d+ of \w+\.py: (.*)$", said, re.M
    )
