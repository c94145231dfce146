"""`fxls runs` and `fxls list --run`: what ran, and what torch.compile did in it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest

from fxls.listing import Facts, Identity, Listing, Place
from fxls.record import (
    Cause,
    Compilation,
    End,
    Event,
    Guard,
    Guards,
    Made,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    RevisionName,
    Subject,
)
from fxls.store import Store
from fxls.store.runs import record_path
from fxls.text import Span
from tests.cli.command import Command, Ended
from tests.support.records import FIRST, SECOND, written


def events(folder: Path) -> tuple[Event, ...]:
    place = Place(str(folder / "net.py"), "forward", Span.of(3, 4, 3, 14))
    at = QuotedPlace(place, '    print("x")', "ab")
    return (
        Compilation("0/0", "forward", Outcome.RUNNING),
        Remark(Subject.BREAK, "print", "0/0", "GB0059", (at,), ("leave it out",)),
        Compilation(
            *("0/0", "forward", Outcome.BREAK, Cause.FIRST, at, (), "print", 2),
            *(1.5, (("backend_compile", 1.0),), (), 3, 4),
        ),
        Compilation("0/1", "forward", Outcome.LIMIT, Cause.RECOMPILATION, seconds=0.5),
        Compilation("1/0", "step", Outcome.RUNNING),
    )


def test_runs_are_listed_the_newest_first(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    written(root, FIRST, *events(fxls.folder))
    written(root, SECOND, Compilation("0/0", "f", Outcome.OK, seconds=0.25), End())
    ended = fxls.run("runs")
    age = re.search(r"train.py +(\S+ \S+|\S+) +ended", ended.out)
    assert age is not None
    assert [line.split() for line in ended.out.splitlines()] == [
        [
            "program",
            "age",
            "state",
            "compilations",
            "recompilations",
            "breaks",
            "other",
            "time",
            "run",
        ],
        ["train.py", *age[1].split(), "ended", "1", "0.2", "s", SECOND],
        [
            "train.py",
            *age[1].split(),
            "killed",
            "3",
            "1",
            "1",
            "1",
            "limit",
            "2.0",
            "s",
            FIRST,
        ],
    ]
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("words", [FIRST, "host-7", "-2"])
def test_one_run_says_each_compilation_and_what_went_wrong_in_it(
    words: str, fxls: Command
) -> None:
    root = fxls.folder / ".fxls"
    written(root, FIRST, *events(fxls.folder))
    written(root, SECOND, End())
    assert fxls.run("runs", words) == Ended(
        0,
        f"""\
train.py --fast: killed
run {FIRST}
torch 2.13.0
3 compilations, 1 recompilation, 1 graph break, 1 limit reached
time by phase: backend_compile 1.00 s

0/0  forward, net.py:4:5: break, attempt 2, 3 nodes, 1.50 s
  graph break GB0059: print
    at net.py:4:5: print("x")
    help: leave it out

0/1  forward: limit, recompilation, 0.50 s

1/0  step: killed while it ran
""",
        "",
    )


def test_programs_get_json_with_the_version_of_its_schema(fxls: Command) -> None:
    written(fxls.folder / ".fxls", FIRST, *events(fxls.folder))
    every = json.loads(fxls.run("runs", "--json").out)
    one = json.loads(fxls.run("runs", "-1", "--json").out)

    assert every["schema"] == one["schema"] == 1
    assert every["runs"] == [one["run"]]
    assert one["run"]["state"] == "killed"
    assert [each["id"] for each in one["compilations"]] == ["0/0", "0/1", "1/0"]
    assert one["remarks"] == [
        {
            "subject": "break",
            "reason": "print",
            "compilation": "0/0",
            "id": "GB0059",
            "hints": ["leave it out"],
            "places": [
                {
                    "path": "FOLDER/net.py",
                    "function": "forward",
                    "line": 4,
                    "column": 5,
                    "end_line": 4,
                    "end_column": 15,
                    "text": '    print("x")',
                    "digest": "ab",
                }
            ],
        }
    ]


def test_a_run_that_is_not_there_or_not_clear_is_said(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    assert fxls.run("runs") == Ended(
        0,
        "",
        "fxls: no runs in FOLDER/.fxls\n"
        "help: `fxls run FILE` records a program that compiles; --store or FXLS_STORE"
        " names another folder.\n",
    )
    written(root, FIRST)
    written(root, SECOND)
    assert fxls.run("runs", "nope") == Ended(
        2,
        "",
        "fxls: error: there is no run 'nope'\nhelp: `fxls runs` shows them all.\n",
    )
    assert fxls.run("runs", "host") == Ended(
        2,
        "",
        "fxls: error: 'host' may be each of 2 runs\n"
        f"help: Say more of its id: {SECOND}, {FIRST}.\n",
    )


def test_what_a_record_says_does_nothing_to_a_terminal(fxls: Command) -> None:
    evil = Remark(Subject.BREAK, "\x1b]0;title\x07\r", "0/0")
    one = Compilation("0/0", "\x1b[2J", Outcome.BREAK)
    ran = Pass("\x1b[31m", 1, changed=True, raised="\x9b2J")
    written(fxls.folder / ".fxls", FIRST, one, evil, ran)
    out = fxls.run("runs", "-1").out
    assert "0/0  \\x1b[2J: break\n  graph break: \\x1b]0;title\\x07\\r\n" in out
    assert "\\x1b[31m  \\x9b2J" in fxls.run("passes").out
    told = fxls.run("passes", "--first-gone", "\x1b[2J")
    assert told.err.splitlines()[0] == "fxls: no graph of this run has '\\x1b[2J'"


def test_a_damaged_record_is_said_and_the_others_are_listed(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    written(root, FIRST, End())
    record_path(root, SECOND).write_bytes(b"\x00" * 100)
    ended = fxls.run("runs")
    assert (ended.code, len(ended.out.splitlines())) == (3, 2)
    assert ended.err == (
        f"fxls: warning: FOLDER/.fxls/runs/{SECOND}.jsonl: is not read: it has no whole"
        " line\nhelp: Delete it, or use the newest fxls.\n"
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("runs", "-1"), 3),
        (("runs", "-1", "--json"), 3),
        (("passes", "--run=-1"), 3),
        (("remarks", "-1"), 3),
        (("report", "-1", "-o", "report.html"), 3),
        (("list", "--run=-1"), 3),
        (("diff", "run:-1", "run:-1"), 2),
    ],
)
def test_a_record_that_is_asked_for_and_is_damaged_is_an_error(
    fxls: Command, words: tuple[str, ...], code: int
) -> None:
    root = fxls.folder / ".fxls"
    written(root, FIRST, End())
    record_path(root, SECOND).write_bytes(b"\x00" * 100)
    ended = fxls.run(*words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err == (
        f"fxls: error: FOLDER/.fxls/runs/{SECOND}.jsonl: is not read: it has no whole"
        " line. Delete it, or use the newest fxls.\n"
    )


def test_runs_and_passes_of_a_store_on_another_machine_are_shown(
    fxls: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    there = tmp_path_factory.mktemp("there") / ".fxls"
    home = tmp_path_factory.mktemp("home")
    ran = Pass("tidy", 1, compilation="0/0", changed=True)
    written(there, FIRST, *events(fxls.folder), ran, End())
    env = {"HOME": str(home), "FXLS_STORE": f"file://{quote(str(there))}"}
    assert "graph break GB0059: print" in fxls.run("runs", "-1", env=env).out
    assert "\n  tidy" in fxls.run("passes", env=env).out
    assert not (fxls.folder / ".fxls").exists()


def test_list_shows_what_one_run_made(fxls: Command) -> None:
    root = fxls.folder / ".fxls"
    store = Store(root)
    nodes = (Facts("output", "output", "output", 0),)
    one, two = Identity("net", "One"), Identity("net", "Two")
    first = store.materialize(Listing(one, "first\n", 0, (), nodes))
    store.materialize(Listing(two, "two\n", 0, (), nodes))
    store.materialize(Listing(one, "second\n", 0, (), nodes))
    written(root, FIRST, Made(RevisionName(one, first.name, "0" * 12)))
    ended = fxls.run("list", "--run=-1", "--json")

    listings = json.loads(ended.out)["listings"]
    assert [each["identity"]["qualname"] for each in listings] == ["One"]
    assert listings[0]["path"] == f"FOLDER/.fxls/{first.name}".replace(
        first.name, "One_<hash>.py"
    )
    text = fxls.run("list", "--run", "host-7").out
    assert ("net.One" in text, "net.Two" in text) == (True, False)


PROGRAM = """\
    import torch

    @torch.compile(backend="eager")
    def f(x):
        print("in between")
        return x + 1

    f(torch.ones(2))
    """


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--record", "--no-record"])
def test_run_records_a_program_that_compiles_or_does_not(
    option: str, fxls: Command
) -> None:
    fxls.file(PROGRAM, "program.py")
    env = {"FXLS_RECORD": "0" if option == "--record" else "1"}
    assert fxls.run("run", option, "program.py", env=env).code == 0
    found = json.loads(fxls.run("runs", "--json").out)["runs"]
    if option == "--no-record":
        assert found == []
        return
    (one,) = found
    assert (one["program"], one["state"]) == ("FOLDER/program.py", "ended")
    assert (one["compilations"], one["breaks"]) == (2, 1)
    made = json.loads(fxls.run("list", "--run=-1", "--json").out)["listings"]
    stages = [each["identity"]["stage"] for each in made]
    assert stages == ["graph 0"]
    assert "FXLS_RUN" not in os.environ


TWICE = """\
    import fxls
    import torch

    @torch.compile(backend="eager")
    def f(x):
        return x + 1

    f(torch.ones(2))
    fxls.new_run()
    torch._dynamo.reset()
    f(torch.ones(2))
    """


@pytest.mark.slow
def test_a_program_cuts_its_run_in_two_that_made_the_same_graph(fxls: Command) -> None:
    fxls.file(TWICE, "program.py")
    assert fxls.run("run", "program.py").code == 0
    found = json.loads(fxls.run("runs", "--json").out)["runs"]
    assert [(one["compilations"], one["state"]) for one in found] == [(1, "ended")] * 2
    assert [one["launch"] for one in found] == [one["id"] for one in found]
    paths = [
        [
            one["path"]
            for one in json.loads(fxls.run("list", run, "--json").out)["listings"]
        ]
        for run in ("--run=-1", "--run=-2")
    ]
    assert len(paths[0]) == 1
    assert paths[0] == paths[1]


def test_docs_have_every_key_that_json_prints_of_runs_and_no_version_but_this(
    fxls: Command,
) -> None:
    place = QuotedPlace(Place("/p.py", "f", Span.of(1, 0, 1, 4)), "line", "d" * 12)
    guards = Guards("0/0", 1, (Guard("SIZE", "x > 2", place),))
    remark = Remark(Subject.BREAK, "why", "0/0", "GB0001", (place,), ("hint",))
    compiled = Compilation("0/0", "f", Outcome.OK, place=place)
    written(fxls.folder / ".fxls", FIRST, compiled, remark, guards, End())
    section = section_of_page("For programs")
    known = set(re.findall(r"`(\w+)`", section))
    all_ = json.loads(fxls.run("runs", "--json").out)
    one = json.loads(fxls.run("runs", "-1", "--guards", "--json").out)
    assert keys(all_) | keys(one) <= known
    assert (all_["schema"], one["schema"]) == (1, 1)
    assert "| `schema` | 1 | 1 |" in section


def test_docs_have_every_key_that_json_prints_of_listings_and_no_version_but_this(
    fxls: Command,
) -> None:
    root = fxls.folder / ".fxls"
    made = Store(root).materialize(
        Listing(NET, "text\n", 0, (), (Facts("output", "output", "output", 0),))
    )
    written(root, FIRST, Made(RevisionName(NET, made.name, "0" * 12)))
    section = section_of_page("For programs: listings")
    known = set(re.findall(r"`(\w+)`", section))

    every = json.loads(fxls.run("list", "--json").out)
    one = json.loads(fxls.run("list", "--run=-1", "--json").out)
    assert one == every
    assert len(one["listings"]) == 1
    assert keys(one) <= known
    assert one["schema"] == 1
    assert "| `schema` | 1 |\n" in section


NET = Identity("net", "Net")


def section_of_page(title: str) -> str:
    """What docs/compiler.md says below a heading."""
    page = (Path(__file__).parents[2] / "docs" / "compiler.md").read_text("utf-8")
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def keys(value: Any) -> set[str]:
    """All keys of an object and of what is in it."""
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        inner = [keys(one) for key, one in found.items() if key not in _OPEN]
        return set(found).union(*inner)
    of = cast("list[Any]", value) if isinstance(value, list) else []
    return set[str]().union(*map(keys, of))


_OPEN = {"phases", "versions"}
"""Whose keys are those of torch, and names of packages."""


MANY = """\
import torch
from fxls.runtime.record import writer

opened = writer._Open.__init__
writer._Open.__init__ = lambda *given: opened(*given[:-1], 160_000)


def f(x):
    for i in range(60):
        x = x + i
    return x


def swaps(gm):
    for node in gm.graph.nodes:
        if node.op == "call_function":
            node.args = node.args[::-1]
    gm.recompile()


def backend(gm, inputs):
    for _ in range(10):
        swaps(gm)
    return gm.forward


for _ in range(12):
    torch.compiler.reset()
    torch.compile(f, backend=backend)(torch.ones(4))
print("done")
"""


@pytest.mark.slow
def test_a_record_that_is_full_still_counts_what_it_does_not_keep(
    fxls: Command,
) -> None:
    """With a two-hundredth of the bound, which a program reaches in seconds."""
    fxls.file(MANY, "program.py")
    ended = fxls.run("run", "program.py")
    assert (ended.code, ended.out) == (0, "done\n")
    files = [one for one in fxls.folder.rglob(".fxls/runs/**/*") if one.is_file()]
    assert sum(one.stat().st_size for one in files) < 160_000
    (one,) = json.loads(fxls.run("runs", "--json").out)["runs"]
    assert one["truncated"]
    assert one["lost"] > 0
    assert (one["state"], one["compilations"]) == ("ended", 12)
    said = fxls.run("runs", "-1").out
    assert f"12 compilations, 120 passes, {one['lost']} events not kept\n" in said
    assert f"{one['lost']} events not kept" in fxls.run("runs").out
