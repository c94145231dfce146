"""How long each node takes, as the worker measures it."""

from __future__ import annotations

from pathlib import Path

from fxls.entry import Entry, Kind
from fxls.store import Store
from fxls.wire import Failed, Traced
from fxls.worker.timing import least_of
from tests.worker.asking import TIME_LIMIT, Asking

HEAVY = """\
import torch

class Heavy(torch.nn.Module):
    def forward(self, x):
        return 1 + torch.relu(x) @ x
"""

ONCE = """\
import torch

class Once(torch.nn.Module):
    def forward(self, x):
        return x.resize_(x.numel() + 1).view(2)
"""


def timed(worker: Asking, text: str, expression: str) -> Traced | Failed:
    path = worker.file(text)
    entry = Entry(str(path), expression, Kind.COMMAND)
    return worker.run(
        worker.host.trace(
            entry, store=str(worker.store), time_limit=TIME_LIMIT, timed=True
        )
    )


def test_the_node_that_computes_most_takes_longest(worker: Asking) -> None:
    outcome = timed(worker, HEAVY, "Heavy()(torch.ones(600, 600))")

    assert isinstance(outcome, Traced), outcome
    nodes = Store(worker.store).read(Path(outcome.path)).nodes
    assert [node.name for node in nodes] == ["x", "relu", "matmul", "add", "output"]
    assert min(outcome.times) > 0
    assert nodes[outcome.times.index(max(outcome.times))].name == "matmul"


def test_nothing_is_measured_that_nobody_asked_for(worker: Asking) -> None:
    outcome = worker.outcome(HEAVY, "Heavy()(torch.ones(2, 2))")

    assert isinstance(outcome, Traced), outcome
    assert outcome.times == ()


def test_nothing_is_measured_without_inputs(worker: Asking) -> None:
    outcome = timed(worker, HEAVY, "Heavy()")

    assert isinstance(outcome, Traced), outcome
    assert outcome.times == ()


def test_a_graph_that_runs_only_once_is_said_to(worker: Asking) -> None:
    outcome = timed(worker, ONCE, "Once()(torch.ones(1))")

    assert isinstance(outcome, Failed), outcome
    assert outcome.failure.message.startswith("RuntimeError: shape '[2]' is invalid")


def test_a_time_is_the_least_of_all_runs() -> None:
    runs = iter([(5, 40, 7), (9, 20, 6)] * 10)

    assert least_of((90, 30, 8), lambda: next(runs)) == (5, 20, 6)


def test_a_graph_that_takes_long_runs_once() -> None:
    second = 1_000_000_000

    assert least_of((3 * second, 1), lambda: ()) == (3 * second, 1)
