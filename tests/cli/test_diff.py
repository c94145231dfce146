"""`fxls diff`: what is different between two graphs, and between those of two runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fxls.listing import Identity
from fxls.record import Made, Pass, RevisionName
from fxls.store import Store
from tests.cli.command import Command, Ended
from tests.cli.test_runs import FIRST, SECOND, written
from tests.support.listings import listing_of

NET = Identity("net", "Net", "torch.fx")
HEAD = "import torch\n\ndef forward(self, x, y):\n"
OLD = (
    "sin = torch.sin(x)",
    "cos = torch.cos(y)",
    "neg = torch.neg(x)",
    "sub = torch.sub(sin, cos)",
    "return (sub, neg)",
)
NEW = (
    "neg_1 = torch.neg(x)",
    "sin = torch.sin(x)",
    "abs_1 = torch.abs(sin)",
    "cos = torch.cos(y)",
    "sub_2 = torch.sub(cos, abs_1)",
    "return (sub_2, neg_1)",
)
RENAMED = (
    "a = torch.sin(x)",
    "b = torch.cos(y)",
    "c = torch.neg(x)",
    "d = torch.sub(a, b)",
    "return (d, c)",
)
NO_REVISION = (
    "there is no revision 7 of 'Net'\nhelp: It has 1: @1 is the oldest, @-1 the newest."
)
ONE_REVISION = (
    "net.Net torch.fx has one revision\nhelp: `fxls list` shows what else there is."
)


def made(root: Path, *body: str, identity: Identity = NET) -> RevisionName:
    """A listing of these lines in the store."""
    text = HEAD + "".join(f"    {line}\n" for line in body)
    store = Store(root)
    path = store.materialize(listing_of(text, identity=identity))
    revision = store.newest(identity)
    assert revision is not None
    return RevisionName(identity, path.name, revision.facts)


def test_a_graph_is_meant_by_all_of_its_name_without_module_and_producer(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    for stage, body in (("graph 0", OLD), ("graph 0, joint", NEW)):
        made(root, *body, identity=Identity("net", "Net", "torch.compile", stage))
    shown = (
        "--- .fxls/Net_<hash>.py  net.Net torch.compile graph 0\n"
        "+++ .fxls/Net_<hash>.py  net.Net torch.compile graph 0, joint\n"
    )
    for words in ("net.Net graph 0", "Net torch.compile graph 0", "Net graph 0"):
        ended = fxls.run("diff", words, "joint")
        assert (ended.code, ended.err) == (1, "")
        assert ended.out.startswith(shown)


def test_two_revisions_are_compared_node_by_node(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    made(root, *OLD)
    made(root, *NEW)
    shown = (
        "--- .fxls/Net_<hash>.py  net.Net torch.fx\n"
        "+++ .fxls/Net_<hash>.py  net.Net torch.fx\n"
        "+1 ~1 nodes, 1 moved\n"
        "> neg_1  stands before sin, was neg\n"
        "+ abs_1  torch.abs(sin)\n"
        "~ sub_2  arguments sin, cos -> cos, abs_1, was sub\n"
    )
    assert fxls.run("diff", "net.Net@1", "net.Net@-1") == Ended(1, shown, "")
    assert fxls.run("diff", "Net") == Ended(1, shown, "")

    said = json.loads(fxls.run("diff", "Net@1", "Net@2", "--json").out)
    assert {name: said[name] for name in ("schema", "same", "summary", "moved")} == {
        "schema": 1,
        "same": False,
        "summary": {"created": 1, "erased": 0, "altered": 1, "moved": 1, "shapes": 0},
        "moved": [{"old": "neg", "new": "neg_1", "line": 4, "before": "sin"}],
    }
    assert said["old"]["identity"]["qualname"] == "Net"

    back = fxls.run("diff", "Net@2", "Net@1")
    assert back.out.split("\n")[2:] == [
        "-1 ~1 nodes, 1 moved",
        "- abs_1  torch.abs(sin)",
        "> neg    stands before sub, was neg_1",
        "~ sub    arguments cos, abs_1 -> sin, cos, was sub_2",
        "",
    ]


def test_other_names_are_no_difference_and_paths_name_listings(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    old, new = made(root, *OLD), made(fxls.folder / "other", *RENAMED)

    assert fxls.run("diff", f".fxls/{old.text}", f"other/{new.text}") == Ended(
        0,
        "--- .fxls/Net_<hash>.py  net.Net torch.fx\n"
        "+++ other/Net_<hash>.py  net.Net torch.fx\n"
        "no difference\n",
        "",
    )


def test_the_graphs_of_two_runs_and_of_two_ranks(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    stages = [Identity("net", "Net", "torch.compile", f"graph {n}") for n in range(3)]
    old = [made(root, *OLD, identity=one) for one in stages[:2]]
    new = [made(root, *OLD, identity=stages[0])]
    new += [made(root, *NEW, identity=stages[1]), made(root, *OLD, identity=stages[2])]
    written(root, FIRST, *map(Made, old))
    written(root, SECOND, *map(Made, new))
    ranks = [Identity("net", "Net", "torch.compile", "joint", n) for n in range(2)]
    for rank, body in zip(ranks, (OLD, NEW), strict=True):
        made(root, *body, identity=rank)

    ended = fxls.run("diff", "run:-2", "run:-1")
    path = ".fxls/Net_<hash>.py"
    assert (ended.code, ended.err) == (1, "")
    # The columns are as wide as the hashes are.
    assert [re.split(r"  +", line) for line in ended.out.split("\n")] == [
        ["graph", "difference", "first", "old", "new"],
        ["net.Net torch.compile graph 1", "+1 ~1 nodes, 1 moved", "neg_1", path, path],
        ["net.Net torch.compile graph 2", "only in the new", path],
        ["1 of 3 graphs are the same"],
        [""],
    ]
    assert fxls.run("diff", "run:-1", "run:-1") == Ended(
        0, "no difference in 3 graphs\n", ""
    )
    said = json.loads(fxls.run("diff", "rank:0", "rank:1", "--json").out)
    assert (said["old"], said["new"], said["same"]) == ("rank 0", "rank 1", False)
    (graph,) = said["graphs"]
    assert graph["identity"]["stage"] == "joint"
    assert graph["diff"]["summary"]["created"] == 1
    assert [graph[side]["identity"]["rank"] for side in ("old", "new")] == [0, 1]


def test_a_pass_is_compared_with_what_it_was_given(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    first, second, third = made(root, *OLD), made(root, *NEW), made(root, *RENAMED)
    written(
        root,
        FIRST,
        Pass("fuse", 1, changed=True, before=first, after=second),
        Pass("clean", 1, changed=True, before=second, after=third),
        Pass("clean", 2, changed=True, before=second, after=third),
        Pass("part", 1, stage="forward", changed=True, before=first, after=second),
        Pass("part", 1, stage="backward", changed=True, before=second, after=third),
        Pass("idle", 1),
    )

    assert fxls.run("diff", "pass:fuse").out.split("\n")[2] == "+1 ~1 nodes, 1 moved"
    two = fxls.run("diff", "pass:fuse", "pass:clean(2)")
    assert two.out.split("\n")[2] == "-1 ~1 nodes, 1 moved"
    assert fxls.run("diff", "pass:clean") == Ended(
        2,
        "",
        "fxls: error: 2 passes are called 'clean'\nhelp: Say which: 'pass:clean(1)',"
        " 'pass:clean(2)', or its revisions, which `fxls passes` shows.\n",
    )
    assert fxls.run("diff", "pass:part") == Ended(
        2,
        "",
        "fxls: error: 2 passes are called 'part'\n"
        "help: Say which: 'pass:Net forward part', 'pass:Net backward part', or its revisions,"
        " which `fxls passes` shows.\n",
    )
    told = fxls.run("diff", "pass:backward part")
    assert told.out.split("\n")[2] == "-1 ~1 nodes, 1 moved"
    assert fxls.run("diff", "pass:backward part(1)") == told
    assert fxls.run("diff", "pass:joint part").err == (
        f"fxls: error: no pass 'joint part' of {FIRST} changed a graph\n"
        "help: `fxls passes` shows those that did.\n"
    )
    assert fxls.run("diff", "pass:idle") == Ended(
        2,
        "",
        f"fxls: error: no pass 'idle' of {FIRST} changed a graph\n"
        "help: `fxls passes` shows those that did.\n",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("Nope", "Net"),
            "no listing says 'Nope'\nhelp: `fxls list` shows them all.",
        ),
        (
            ("Net@7", "Net"),
            NO_REVISION,
        ),
        (
            ("Net",),
            ONE_REVISION,
        ),
        (
            ("run:9", "run:-1"),
            "there is no run '9'\nhelp: `fxls runs` shows them all.",
        ),
        (
            ("rank:x", "rank:1"),
            "'x' is no rank\nhelp: Ranks are numbers, as rank:0.",
        ),
    ],
)
def test_what_is_not_there_is_said_and_ends_with_two(
    fxls: Command, words: tuple[str, ...], said: str
) -> None:
    made(fxls.folder / ".fxls", *OLD)

    assert fxls.run("diff", *words) == Ended(2, "", f"fxls: error: {said}\n")


def test_a_run_whose_graphs_are_gone_is_trouble(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    name = made(root, *OLD)
    written(root, FIRST, Made(name))
    (root / name.text).unlink()
    ended = fxls.run("diff", "run:-1", "run:-1")

    assert ended.code == 2
    assert "there is no such listing" in ended.err
    assert "cannot be read" in ended.out
