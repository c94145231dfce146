"""Entries that torch.export or torch.compile makes the graph of."""

from __future__ import annotations

import pytest

from fxls.entry import Entry, Kind, Producer
from fxls.repairs import Capture
from fxls.store import Store
from fxls.wire import Failed, Traced
from tests.worker.asking import Asking

pytestmark = pytest.mark.slow

CHOOSY = """\
import torch

class Choosy(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return torch.relu(x)
        return torch.tanh(x)

class Flat(torch.nn.Module):
    def forward(self, x):
        if len(x.shape) > 2:
            x = x.flatten(1)
        for _ in range(x.shape[1]):
            x = x + 1
        return x
"""


def answer(worker: Asking, expression: str, producer: Producer) -> Traced | Failed:
    path = worker.file(CHOOSY)
    entry = Entry(str(path), expression, Kind.COMMENT, None, producer)
    return worker.run(worker.host.trace(entry, store=str(worker.store), time_limit=90))


def test_an_exported_entry(worker: Asking) -> None:
    traced = answer(worker, "Flat()(torch.ones(2, 2))", Producer.EXPORT)
    assert isinstance(traced, Traced), traced
    store = Store(worker.store)
    (revision,) = store.revisions(traced.identity)
    listing = store.read_revision(revision)
    assert (listing.identity.qualname, listing.identity.producer) == (
        *("Flat", "torch.export"),
    )
    assert listing.entry == "Flat()(torch.ones(2, 2))"
    assert [facts.name for facts in listing.nodes] == ["x", "add", "add_1", "output"]


def test_a_compiled_entry_has_a_listing_for_each_graph(worker: Asking) -> None:
    traced = answer(worker, "Choosy()(torch.ones(2))", Producer.COMPILE)
    assert isinstance(traced, Traced), traced
    found = Store(worker.store).identities()
    assert [(i.qualname, i.producer, i.stage) for i in found] == [
        ("Choosy", "torch.compile", "graph 0"),
        ("Choosy", "torch.compile", "graph 1"),
    ]
    assert traced.identity == found[0]


@pytest.mark.parametrize(
    ("expression", "advice", "repair"),
    [
        (
            "Flat()(torch.ones(2, 2))",
            "torch.export captures it: write `# fxls[export]: {}`.",
            Capture("export"),
        ),
        (
            "Choosy()(torch.ones(2))",
            "torch.compile captures it in 2 graphs: write `# fxls[compile]: {}`.",
            Capture("compile"),
        ),
    ],
)
def test_a_failure_says_who_does_better(
    worker: Asking, expression: str, advice: str, repair: Capture
) -> None:
    failed = answer(worker, expression, Producer.ENGINE)
    assert isinstance(failed, Failed)
    assert failed.failure.advice is not None
    assert failed.failure.advice.endswith(advice.format(expression))
    assert failed.failure.repairs[-1] == repair
    printed = "".join(text for about, text in worker.printed if about is not None)
    assert printed == "", "torch explains why export fails, which nobody asked for"


@pytest.mark.parametrize("producer", [Producer.EXPORT, Producer.COMPILE])
def test_inputs_are_needed(worker: Asking, producer: Producer) -> None:
    failed = answer(worker, "Flat()", producer)
    assert isinstance(failed, Failed)
    assert failed.failure.message == f"torch.{producer.value} needs example inputs"
