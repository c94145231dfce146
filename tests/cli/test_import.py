"""`fxls import`: a log that torch wrote without fxls says what fxls records."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from fxls.cli.followed_program import GRAPHS_ANEW
from fxls.graph_diff import graph_diff
from fxls.listing import Listing
from fxls.record import Made
from fxls.store import Store, StoreError
from fxls.store.runs import Runs
from tests.cli.command import Command, Ended

PROGRAM = """\
import torch


def g(x, n):
    return (x + n).relu()


def f(x):
    y = x.sin() + 1
    print("break")
    return torch.cos(y)[0]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.nn.functional.gelu(self.lin(x), approximate="tanh")


x = torch.randn(3, 4)
torch.compile(f, backend="aot_eager")(x)
again = torch.compile(g, backend="aot_eager", dynamic=False)
for n in range(3):
    again(x, n)
torch.compile(Net(), backend="aot_eager", dynamic=True)(x).sum().backward()
"""


def unwanted(error: StoreError) -> None:
    pytest.fail(str(error))


def said(fxls: Command, run: str) -> dict[str, Any]:
    """What a run says, without its times and the columns of its places."""
    found = json.loads(fxls.run("runs", run, "--json").out)
    for one in found["compilations"]:
        one["phases"], one["seconds"] = sorted(one["phases"]), one["seconds"] > 0
        one["place"] = _line(one["place"])
    for one in found["remarks"]:
        # Where a parameter is written is read from the source, which an import leaves be.
        of_log = -1 if one["subject"] == "recompilation" else 0
        one["places"] = [_line(place) for place in one["places"][of_log:]]
    return {name: found[name] for name in ("compilations", "remarks")}


def _line(place: dict[str, Any]) -> tuple[str, str, int]:
    return place["path"], place["function"], place["line"]


def graphs(store: Store, run: str) -> dict[tuple[str, str], Listing]:
    entries = Runs(store.root, unwanted).read(run).entries
    made = [one.event.revision for one in entries if isinstance(one.event, Made)]
    # A log has the name of a function, and a listing that of its class.
    return {
        (
            one.identity.qualname.replace("Net", "forward"),
            one.identity.stage,
        ): store.read_named(one)
        for one in made
    }


def calls(listing: Listing) -> list[tuple[str, int | None]]:
    """The calls of a graph, each with the line that it came from."""
    origins = [listing.origin(node) for node in range(len(listing.nodes))]
    return [
        (one.name, None if origin is None else origin.places[0].span.start.line)
        for one, origin in zip(listing.nodes, origins, strict=True)
        if one.opcode.startswith("call_")
    ]


@pytest.mark.slow
def test_a_log_of_torch_alone_says_what_fxls_records(fxls: Command) -> None:
    program = fxls.file(PROGRAM, "prog.py")
    logs = fxls.folder / "logs"
    env = {**os.environ, "TORCH_TRACE": str(logs)}
    alone = subprocess.Popen(
        [sys.executable, str(program)], env=env, stdout=subprocess.DEVNULL
    )
    try:
        assert fxls.run("run", "prog.py").code == 0
        assert alone.wait(600) == 0
    finally:
        alone.kill()
    (live,) = Runs(fxls.folder / ".fxls", unwanted).newest()
    first = fxls.run("import", "logs")
    second = fxls.run("import", "logs")
    store = Store(fxls.folder / ".fxls")
    (imported,) = (
        one.run.id
        for one in Runs(store.root, unwanted).newest()
        if one.run.id != live.run.id
    )

    assert first == Ended(
        0, f"{imported}: FOLDER/prog.py: 6 compilations, 14 listings\n", ""
    )
    assert second == Ended(0, f"{imported}: is there already\n", "")
    assert said(fxls, imported) == said(fxls, live.run.id)

    ours, theirs = graphs(store, live.run.id), graphs(store, imported)
    # What the log calls the joint graph, the record has as passes leave it.
    del ours["forward", "graph 0, traced"]
    assert set(theirs) - set(ours) == {("forward", "graph 0, joint")}
    assert [
        (key, diff) for key in ours if (diff := graph_diff(ours[key], theirs[key]))
    ] == []
    assert {key: calls(theirs[key]) for key in ours} == {
        key: calls(listing) for key, listing in ours.items()
    }


KERNELS = """\
import torch


@torch.compile
def f(x, w):
    y = torch.nn.functional.gelu(x @ w)
    return y.sum(0) + y.amax(1), y.view(-1).cumsum(0)


w = torch.randn(4, 4)
f(torch.randn(4, 4, requires_grad=True), w)[0].sum().backward()
"""


@pytest.mark.slow
def test_a_log_has_the_kernels_of_inductors_code(fxls: Command) -> None:
    fxls.file(KERNELS, "prog.py")
    env = {
        "TORCH_TRACE": str(fxls.folder / "logs"),
        # What torch has in its cache, it does not make again.
        **GRAPHS_ANEW,
    }
    assert fxls.run("run", "prog.py", env=env).code == 0
    (live,) = Runs(fxls.folder / ".fxls", unwanted).newest()
    assert fxls.run("import", "logs").code == 0
    imported = next(
        one.run.id
        for one in Runs(fxls.folder / ".fxls", unwanted).newest()
        if one.run.id != live.run.id
    )
    store = Store(fxls.folder / ".fxls")
    ours, theirs = (
        {
            stage: kernel_calls(listing)
            for (_, stage), listing in graphs(store, run).items()
            if stage.endswith(", kernels")
        }
        for run in (live.run.id, imported)
    )

    assert {*ours} == {"graph 0, forward, kernels", "graph 0, backward, kernels"}
    assert all(ours.values())
    assert theirs == ours
    said = fxls.run("runs", imported).out
    listed = re.findall(r"^  (\S+:\d), line \d+$", said, re.M)
    assert [*map(str, listed)] == [
        name for calls in ours.values() for name, *_ in calls
    ]


def kernel_calls(listing: Listing) -> list[tuple[str, list[str], list[str]]]:
    """The calls of kernels, with the names of what each is given and writes."""
    names = [one.name for one in listing.nodes]
    return [
        (
            one.name,
            [
                names[each]
                for piece in one.args
                for each in piece
                if isinstance(each, int)
            ],
            [
                names[each]
                for _, piece in one.kwargs
                for each in piece
                if isinstance(each, int)
            ],
        )
        for one in listing.nodes
        if one.opcode == "call_kernel"
    ]


def test_what_holds_no_log_is_said(fxls: Command) -> None:
    fxls.file("no log\n", "logs/notes.txt")

    assert fxls.run("import", "logs") == Ended(
        2,
        "",
        "fxls: error: there are no logs of TORCH_TRACE in logs\n"
        "help: TORCH_TRACE=FOLDER in the environment of a program lets torch write"
        " them.\n",
    )
    assert fxls.run("import", "nowhere") == Ended(
        2, "", "fxls: error: nowhere: No such file or directory\n"
    )
