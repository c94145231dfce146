"""Entries that torch.export or torch.compile makes the graph of."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxls.entry import Entry, Kind, Producer
from fxls.listing import Tensor
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

class Either(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))

class Flat(torch.nn.Module):
    def forward(self, x):
        if len(x.shape) > 2:
            x = x.flatten(1)
        for _ in range(x.shape[1]):
            x = x + 1
        return x
"""


def answer(
    worker: Asking, expression: str, producer: Producer | None
) -> Traced | Failed:
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


def test_nodes_of_a_compiled_entry_have_the_columns_of_their_expressions(
    worker: Asking,
) -> None:
    traced = answer(worker, "Choosy()(torch.ones(2))", Producer.COMPILE)
    assert isinstance(traced, Traced), traced
    store = Store(worker.store)
    text = CHOOSY.split("\n")
    found: list[tuple[str, str]] = []
    for identity in store.identities():
        (revision,) = store.revisions(identity)
        listing = store.read_revision(revision)
        for facts in listing.nodes:
            if facts.origin is not None and facts.opcode.startswith("call_"):
                span = listing.frames[facts.origin].span
                line = text[span.start.line]
                found.append((facts.name, line[span.start.column : span.end.column]))
    assert found == [
        ("sum_1", "x.sum()"),
        ("gt", "x.sum() > 0"),
        ("relu", "torch.relu(x)"),
    ]


BRANCH = "symbolically traced variables cannot be used as inputs to control flow"


@pytest.mark.parametrize(
    ("expression", "producer", "reason"),
    [
        (
            "Either()(torch.ones(2, 2))",
            Producer.EXPORT,
            "Expected pred to be bool or tensor, but got Proxy(gt).",
        ),
        ("Choosy()(torch.ones(2))", Producer.COMPILE, BRANCH),
    ],
)
def test_where_the_engine_cannot_another_producer_captures_the_model(
    worker: Asking, expression: str, producer: Producer, reason: str
) -> None:
    traced = answer(worker, expression, None)
    assert isinstance(traced, Traced), traced
    assert traced.identity.producer == producer.title
    assert traced.trouble is not None
    assert traced.trouble.instead == producer.title
    assert traced.trouble.repairs[-1] == Capture(producer.value)
    listing = Store(worker.store).read(Path(traced.path))
    assert listing.text.splitlines()[1] == (
        f"# fxls.engine cannot capture it: {traced.trouble.message}"
    )
    assert traced.trouble.message.startswith(reason)
    printed = "".join(text for about, text in worker.printed if about is not None)
    assert printed == "", "torch explains why export fails, which nobody asked for"


def test_the_engine_asks_the_call_for_sizes(worker: Asking) -> None:
    traced = answer(worker, "Flat()(torch.ones(2, 2))", None)
    assert isinstance(traced, Traced), traced
    assert (traced.identity.producer, traced.trouble) == ("engine", None)
    listing = Store(worker.store).read(Path(traced.path))
    assert "The inputs that this was traced for give 2 at" in listing.text


def test_the_order_is_that_of_the_request(worker: Asking) -> None:
    path = worker.file(CHOOSY)
    entry = Entry(str(path), "Flat()(torch.ones(2, 2))", Kind.COMMENT)
    order = (Producer.COMPILE, Producer.ENGINE)
    traced = worker.run(
        worker.host.trace(entry, store=str(worker.store), time_limit=90, order=order)
    )
    assert isinstance(traced, Traced), traced
    assert (traced.identity.producer, traced.trouble) == ("torch.compile", None)


def test_an_entry_that_insists_is_tried_by_nobody_else(worker: Asking) -> None:
    failed = answer(worker, "Choosy()(torch.ones(2))", Producer.ENGINE)
    assert isinstance(failed, Failed)
    assert (failed.failure.message, failed.failure.others) == (BRANCH, ())


NOBODY = """\
import os
import torch

class Torn(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            raise ValueError("never")
        return x

class Crashing(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_exporting():
            os.abort()
        return x if x.sum() > 0 else -x

class Endless(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_exporting():
            while True:
                pass
        return x if x.sum() > 0 else -x
"""


def test_what_nobody_captures_says_why_for_each(worker: Asking) -> None:
    path = worker.file(NOBODY)
    failed = worker.run(worker.ask(path, "Torn()(torch.ones(2))"))
    assert isinstance(failed, Failed)
    assert failed.failure.message == BRANCH
    assert failed.failure.instead is None
    assert [other.message.partition(":")[0] for other in failed.failure.others] == [
        *("torch.export", "torch.compile"),
    ]
    assert failed.failure.others[1].message == "torch.compile: ValueError: never"
    shown = worker.told(failed, "Torn()(torch.ones(2))")
    assert "net.py:6:12: error: " in shown
    assert "\nnote: torch.compile: ValueError: never\n" in shown


def test_a_producer_that_does_not_end_leaves_the_engines_message(
    worker: Asking,
) -> None:
    path = worker.file(NOBODY)
    failed = worker.run(worker.ask(path, "Endless()(torch.ones(2))", 12.0))
    assert isinstance(failed, Failed)
    assert failed.failure.message == BRANCH
    assert [other.message for other in failed.failure.others] == [
        "torch.export: it took longer than the time limit of 12 s"
    ]


def test_a_producer_that_ends_the_process_leaves_the_engines_message(
    worker: Asking,
) -> None:
    path = worker.file(NOBODY)
    failed = worker.run(worker.ask(path, "Crashing()(torch.ones(2))"))
    assert isinstance(failed, Failed)
    assert failed.failure.message == BRANCH
    assert [other.message for other in failed.failure.others] == [
        "torch.export: the code crashed its process (SIGABRT)"
    ]


@pytest.mark.parametrize("producer", [Producer.EXPORT, Producer.COMPILE])
def test_inputs_are_needed(worker: Asking, producer: Producer) -> None:
    failed = answer(worker, "Flat()", producer)
    assert isinstance(failed, Failed)
    assert failed.failure.message == f"torch.{producer.value} needs example inputs"


ZOO = """\
from collections import OrderedDict
from dataclasses import dataclass, fields
import torch

class Config:
    def __init__(self, width=4, return_dict=True):
        self.width, self.return_dict = width, return_dict

class Output(OrderedDict):
    def __post_init__(self):
        for field in fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

@dataclass
class Hidden(Output):
    last: torch.Tensor | None = None
    pooled: torch.Tensor | None = None

class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = torch.nn.Embedding(9, config.width)

    @classmethod
    def from_config(cls, config):
        return cls(config)

    def forward(self, input_ids=None, mask=None, return_dict=None, **kwargs):
        batch, length = input_ids.shape
        if mask is None:
            mask = torch.ones(batch, length)
        hidden = self.embedding(input_ids) * mask[..., None]
        pooled = hidden[:, 0]
        if not (self.config.return_dict if return_dict is None else return_dict):
            return hidden, pooled
        return Hidden(last=hidden, pooled=pooled)
"""


@pytest.mark.parametrize(
    ("expression", "producer"),
    [
        ("Model(Config())(input_ids=ids)", "engine"),
        ("Model.from_config(Config())(ids, return_dict=False)", "engine"),
    ],
)
def test_an_imported_model_with_a_config_and_an_output_class_has_shapes(
    expression: str, producer: str, worker: Asking
) -> None:
    """It is written as the models of Hugging Face are."""
    zoo = worker.file(ZOO, "zoo/modeling.py")
    worker.file("from .modeling import Config, Model\n", "zoo/__init__.py")
    path = worker.file(
        "import torch\nfrom zoo import Config, Model\n"
        "ids = torch.ones(1, 3, dtype=torch.long)\n"
    )
    entry = Entry(str(path), expression, Kind.COMMENT)
    asked = worker.host.trace(entry, store=str(worker.store), time_limit=90)

    traced = worker.run(asked)

    assert isinstance(traced, Traced), traced
    assert traced.identity.producer == producer
    store = Store(worker.store)
    listing = store.read_revision(store.revisions(traced.identity)[-1])
    text = ZOO.split("\n")
    shapes = {
        text[place.span.start.line].strip(): facts.value.shape
        for facts in listing.nodes
        if isinstance(facts.value, Tensor) and facts.opcode == "call_function"
        for place in list(listing.places(facts.origin))[:1]
        if place.path == str(zoo)
    }
    assert shapes == {
        "mask = torch.ones(batch, length)": (1, 3),
        "hidden = self.embedding(input_ids) * mask[..., None]": (1, 3, 4),
        "pooled = hidden[:, 0]": (1, 4),
    }
