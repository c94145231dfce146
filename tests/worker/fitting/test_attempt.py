"""Example inputs that do not fit a model lead to others, with which a call runs."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fxls.entry import Entry, Kind
from fxls.wire import Failed, Fitted
from tests.worker.asking import TIME_LIMIT, Asking

PARTS = """
import torch
from torch import nn


def twice(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside))
"""

NETS = """
import logging

import torch
from torch import nn
from torch.nn import functional as F

from .parts import *


class Pictures(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first = twice(n, 8)

    def forward(self, x):
        return self.first(F.pad(x, (1, 1, 1, 1)))


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 5)
        self.out = nn.Linear(4 * 12 * 12, 10)

    def forward(self, x):
        return self.out(torch.flatten(F.max_pool2d(self.conv(x), 2), 1))


class Heads(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        return F.scaled_dot_product_attention(q, k, v)


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        return self.out(x)


class MixerBlock(Mixer):
    pass


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 8)
        self.cell = nn.GRU(8, 4, batch_first=True)

    def forward(self, tokens, mask):
        return self.cell(self.table(tokens))[0].masked_fill(~mask[..., None], 0.0)


class Conv1D(nn.Module):
    def __init__(self, outside, inside):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(inside, outside))

    def forward(self, x):
        return x.view(-1, x.shape[-1]) @ self.weight


class GptAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Conv1D(4, 6)

    def forward(self, x):
        return self.first(x)


class Batch(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x, y):
        return self.norm(x + y)


class Nothing(nn.Module):
    def forward(self, x):
        raise ValueError("no input is right")


class Stubborn(nn.Module):
    def forward(self, x):
        raise SystemExit(3)


class Loud(nn.Module):
    calls = 0

    def forward(self, x):
        Loud.calls += 1
        print("called", Loud.calls)
        logging.getLogger("zoo").critical("called")
        return x.reshape(4, 3, 1)
"""


def fitted(shared: Asking, expression: str, nets: str = NETS) -> Fitted | Failed:
    """What fits an entry of a package's file, whose text is not saved."""
    shared.file("from . import nets", "zoo/__init__.py")
    shared.file(PARTS, "zoo/parts.py")
    path = shared.file("raise RuntimeError('as saved')", "zoo/nets.py")
    entry = Entry(str(path), expression, Kind.COMMAND)
    return shared.run(shared.host.fit(entry, dedent(nets), time_limit=TIME_LIMIT))


@pytest.mark.parametrize(
    ("written", "fits"),
    [
        (
            "Pictures(n=3)(torch.randn(1, 8))",
            "Pictures(n=3)(torch.randn(1, 3, 32, 32))",
        ),
        ("Pictures(n=3)(x=torch.randn(1, 3, 8, 8))",) * 2,
        ("Digits()(torch.randn(1, 1, 32, 32))", "Digits()(torch.randn(1, 1, 28, 28))"),
        ("Heads()(torch.randn(1, 8))", "Heads()(torch.randn(1, 8, 24))"),
        ("Mixer(8)(torch.randn(1, 4))", "Mixer(8)(torch.randn(1, 8))"),
        ("MixerBlock(8)(torch.randn(1, 4))", "MixerBlock(8)(torch.randn(1, 8, 8))"),
        (
            "Words()(torch.randn(1, 8), torch.ones(1, 8))",
            "Words()(torch.zeros(1, 8, dtype=torch.long), torch.ones(1, 8, dtype=torch.bool))",
        ),
        (
            "GptAttention()(torch.randn(1, 8))",
            "GptAttention()(torch.randn(1, 8, 6))",
        ),
        (
            "Batch()(torch.randn(1, 8), torch.randn(1, 8))",
            "Batch()(torch.randn(2, 6), torch.randn(2, 6))",
        ),
    ],
)
def test_the_layer_that_refuses_an_input_says_what_it_takes(
    shared: Asking, written: str, fits: str
) -> None:
    outcome = fitted(shared, written)

    assert isinstance(outcome, Fitted)
    assert outcome.expression == fits


@pytest.mark.parametrize(
    "written",
    [
        "Nothing()(torch.randn(1, 8))",
        "Stubborn()(torch.randn(1, 8))",
        "Pictures(n=3)(None)",
        "Pictures(n=3)",
    ],
)
def test_where_none_fits_the_guess_stays(shared: Asking, written: str) -> None:
    outcome = fitted(shared, written)

    assert isinstance(outcome, Fitted)
    assert outcome.expression is None


def test_what_the_calls_print_is_nobodys(shared: Asking) -> None:
    shared.printed.clear()

    outcome = fitted(shared, "Loud()(torch.randn(1, 12))")

    assert isinstance(outcome, Fitted)
    assert outcome.expression == "Loud()(torch.randn(1, 12))"
    assert shared.printed == []


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Heads(dim=-1)(torch.randn(1, 8))", "RuntimeError: Trying to create tensor"),
        ("Gone()(torch.randn(1, 8))", "NameError: name 'Gone' is not defined"),
        ("Heads()(", "`Heads()(` is not an expression"),
        ("3", "`3` is a int, not a torch.nn.Module"),
    ],
)
def test_an_entry_that_builds_no_model_fails_as_its_trace_does(
    shared: Asking, written: str, said: str
) -> None:
    outcome = fitted(shared, written)

    assert isinstance(outcome, Failed)
    assert outcome.failure.message.startswith(said)


def test_a_call_that_does_not_end_is_given_up(shared: Asking) -> None:
    nets = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        while 1: pass\n"
    path = shared.file(nets, "endless.py")
    entry = Entry(str(path), "Net()(torch.randn(1, 8))", Kind.COMMAND)

    outcome = shared.run(shared.host.fit(entry, nets, time_limit=2.0))

    assert isinstance(outcome, Failed)
    assert outcome.failure.message == "it took longer than the time limit of 2 s"
