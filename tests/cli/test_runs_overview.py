"""`fxls runs RUN`: what stands out in a run, and in the ranks beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fxls.listing import Identity, Place
from fxls.record import (
    Cause,
    Compilation,
    Made,
    Names,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    Subject,
)
from fxls.text import Span
from tests.cli.command import Command, Ended
from tests.cli.test_diff import NEW, OLD, made
from tests.cli.test_runs import FIRST, SECOND, written


def recompiled(folder: Path, count: int) -> list[Compilation | Remark]:
    """A function that is compiled once, and again so many times."""
    place = Place(str(folder / "net.py"), "g", Span.of(7, 0, 7, 5))
    found: list[Compilation | Remark] = [
        Compilation("2/0", "g", Outcome.OK, seconds=1.0, phases=(("backend", 0.5),))
    ]
    for at in range(1, count + 1):
        name = f"2/{at}"
        one = Compilation(name, "g", Outcome.OK, Cause.RECOMPILATION, seconds=0.5)
        found.append(one)
        guard = f"2/{at - 1}: n == {at - 1}"
        at_line = (QuotedPlace(place, "def g"),)
        found.append(Remark(Subject.RECOMPILATION, guard, name, "", at_line))
    return found


def test_many_recompilations_of_a_frame_are_one_row_that_opens(fxls: Command) -> None:
    changed = Pass(
        "fuse",
        1,
        compilation="0/0",
        changed=True,
        created=Names(2, ("a", "b")),
        altered=Names(1, ("c",)),
    )
    written(
        fxls.folder / ".fxls",
        FIRST,
        Compilation("0/0", "f", Outcome.RUNNING),
        *recompiled(fxls.folder, 8),
        changed,
        Pass("idle", 1, compilation="0/0"),
        Compilation(
            *("0/0", "f", Outcome.OK),
            seconds=2.0,
            phases=(("backend", 1.25), ("dynamo", 0.25)),
        ),
        Compilation("2/9", "g", Outcome.LIMIT, Cause.RECOMPILATION),
    )
    shown = fxls.run("runs", "-1")

    assert (shown.code, shown.err) == (0, "")
    assert shown.out.split("\n")[4:] == [
        "time by phase: backend 1.75 s, dynamo 0.25 s",
        "",
        "0/0  f: ok, 2.00 s",
        "  passes that changed a graph: fuse +2 ~1",
        "",
        "2/0  g: ok, 1.00 s",
        "",
        "2/1 to 2/8  g: 8 recompilations, 4.00 s (--all shows each)",
        "  guard failed: 2/0: n == 0",
        "    at net.py:8:1: def g",
        "",
        "2/9  g: limit, recompilation",
        "",
    ]
    colored = fxls.run("runs", "-1", env={"FORCE_COLOR": "1"}).out
    assert "passes that changed a graph: \x1b[1mfuse +2 ~1\x1b[0m\n" in colored
    opened = fxls.run("runs", "-1", "--all").out
    assert opened.count("guard failed") == 8
    assert "2/3  g: ok, recompilation, 0.50 s" in opened


def of_rank(root: Path, name: str, rank: int, *body: str) -> str:
    """The run of a rank, of a launch whose ranks made a graph each; its listing."""
    identity = Identity("net", "Net", "torch.compile", "graph 0", rank)
    listing = made(root, *body, identity=identity)
    written(root, name, Made(listing), launch=FIRST, rank=rank)
    return listing.text


def test_ranks_stand_side_by_side_with_the_first_node_that_differs(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    of_rank(root, FIRST, 0, *OLD)
    of_rank(root, SECOND, 1, *NEW)
    out = fxls.run("runs", FIRST).out

    assert [line.split() for line in out.split("\n")[-5:-2]] == [
        ["rank", "state", "compilations", "time", "run"],
        ["0", "killed", "0", "0.0", "s", FIRST],
        ["1", "killed", "0", "0.0", "s", SECOND],
    ]
    assert out.split("\n")[-2] == (
        "rank 1 differs from rank 0 in Net, graph 0: +1 ~1 nodes, 1 moved, first at"
        " neg_1 (Net_<hash>.py:4)"
    )
    said = json.loads(fxls.run("runs", SECOND, "--json").out)
    assert said["ranks"] == [{"rank": 0, "run": FIRST}, {"rank": 1, "run": SECOND}]
    assert said["rank_differences"] == [
        {
            "ranks": [0, 1],
            "identity": {
                "module": "net",
                "qualname": "Net",
                "producer": "torch.compile",
                "stage": "graph 0",
                "rank": None,
            },
            "node": "neg_1",
            "text": "Net_<hash>.py",
            "summary": "+1 ~1 nodes, 1 moved",
        }
    ]


def test_ranks_whose_graphs_are_the_same_say_so(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    of_rank(root, FIRST, 0, *OLD)
    of_rank(root, SECOND, 1, *OLD)
    ended = fxls.run("runs", "-1")

    assert ended == Ended(0, ended.out, "")
    assert ended.out.endswith("the graphs of all ranks are the same\n")


def test_the_first_node_that_differs_may_be_one_of_the_lowest_rank_alone(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    of_rank(root, FIRST, 0, *OLD)
    of_rank(root, SECOND, 1, *OLD[1:3], "sub = torch.sub(x, cos)", OLD[4])
    out = fxls.run("runs", "-1").out

    assert out.split("\n")[-2] == (
        "rank 1 differs from rank 0 in Net, graph 0: -1 ~1 nodes, first at sin of rank 0"
        " (Net_<hash>.py:4)"
    )


def test_ranks_of_which_a_listing_is_gone_are_not_said_to_be_the_same(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    of_rank(root, FIRST, 0, *OLD)
    (root / of_rank(root, SECOND, 1, *NEW)).unlink()
    ended = fxls.run("runs", "-1")

    assert ended.out.split("\n")[-2] == (
        "rank 1 differs from rank 0 in Net, graph 0: a listing cannot be read"
    )


RANKS = """\
import sys
import torch
import torch.distributed as dist

class Net(torch.nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.rank = rank

    def forward(self, x):
        x = x + 1
        if self.rank == 1:
            x = torch.sigmoid(x)
        return x.relu()

dist.init_process_group("gloo")
torch.compile(Net(dist.get_rank()), backend="eager")(torch.ones(2))
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 8])
def test_the_ranks_that_a_launcher_starts_are_side_by_side(
    fxls: Command, ranks: int
) -> None:
    fxls.file(RANKS, "prog.py")
    job = ("--standalone", "--nproc-per-node", str(ranks), "prog.py")
    for _ in range(2):  # a launch of before is another one
        assert fxls.run("run", "-m", "torch.distributed.run", *job).code == 0
    out = fxls.run("runs", "-1").out
    said = json.loads(fxls.run("runs", "-1", "--json").out)

    assert [one["rank"] for one in said["ranks"]] == [*range(ranks)]
    (differing,) = said["rank_differences"]
    assert (differing["ranks"], differing["node"]) == ([0, 1], "x_1")
    said_of_one = (
        "rank 1 differs from rank 0 in Net, graph 0: +1 ~1 nodes,"
        " first at x_1 (Net_<hash>.py:"
    )
    assert re.search(rf"{re.escape(said_of_one)}\d+, from prog.py:13\)\n", out)
    assert len(json.loads(fxls.run("remarks", "--json").out)["runs"]) == ranks


def test_a_rank_of_a_log_may_have_begun_before_the_one_its_launch_is_named_after(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    early = FIRST.replace("T030405Z", "T030404Z")
    of_rank(root, FIRST, 0, *OLD)
    of_rank(root, early, 1, *OLD)
    said = json.loads(fxls.run("runs", "-1", "--json").out)

    assert [one["run"] for one in said["ranks"]] == [FIRST, early]
