"""What a repair writes is traced: it does not lead to the next error."""

from __future__ import annotations

import pytest

from fxls.entry import Entry, Kind, Producer
from fxls.ide.code_actions import fixes
from fxls.ide.entries.entries import entries
from fxls.listing import Failure
from fxls.wire import Failed
from tests.ide.model import applied
from tests.worker.asking import TIME_LIMIT, Asking

pytestmark = pytest.mark.slow

NETS = """
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x, limit=3, causal=True):
        return x + 1 if causal > x.sum() * limit else x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x, limit=2):
        return self.gate(x)


class Attention(nn.Module):
    def __init__(self, width, causal):
        super().__init__()
        self.causal = causal

    def forward(self, x):
        if self.causal and x.sum() > 0:
            return x
        return x + 1


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(x)


def block():
    return Attention(8, causal=False)
"""

WHOLE = "Call Gate as a whole: mark it as a leaf"


@pytest.mark.parametrize(
    ("entry", "titles"),
    [
        ("Gate()(torch.randn(2))", []),
        ("Gate()(torch.randn(2), 3, causal=True)", []),
        ("Net()(torch.randn(2))", [WHOLE]),
        ("Attention()(torch.randn(2))", ["Give Attention width, causal"]),
        ("Norm()(torch.randn(1, 8))", ["Trace it for evaluation"]),
    ],
)
def test_every_repair_of_an_entry_leads_to_its_graph(
    worker: Asking, entry: str, titles: list[str]
) -> None:
    text = f"# fxls: {entry}\n{NETS}"
    found, failure = traced(worker, text)
    assert failure is not None

    repairs = fixes(failure, found, found.path, text)

    assert [one.title for one in repairs] == titles
    assert [traced(worker, applied(one, text))[1] for one in repairs] == [None] * len(
        titles
    )


def traced(worker: Asking, text: str) -> tuple[Entry, Failure | None]:
    """The entry of a file, and why the engine makes no graph of it."""
    path = worker.file(text)
    (entry,) = (e for e in entries(text, str(path)) if e.kind is Kind.COMMENT)
    outcome = worker.run(
        worker.host.trace(
            entry,
            store=str(worker.store),
            time_limit=TIME_LIMIT,
            order=(Producer.ENGINE,),
        )
    )
    return entry, outcome.failure if isinstance(outcome, Failed) else outcome.trouble
