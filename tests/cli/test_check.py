"""`fxls check`: what torch.compile does with a program, against a baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fxls.cli.followed_program import GRAPHS_ANEW
from fxls.listing import Place, source_digest
from fxls.record import (
    Cause,
    Compilation,
    Event,
    MatchedPattern,
    Outcome,
    Pass,
    QuotedPlace,
    Remark,
    Subject,
    Truncated,
)
from fxls.text import Span
from tests.cli.command import Command, Ended
from tests.support.records import FIRST, written

SOURCE = """\
class Net:
    def forward(self, x):
        print("ä", x)
        return helper(x)


def helper(x):
    return x + 1
"""
NAME = "train.py --fast"


class Recorded:
    """A store whose one run can be another one, and the command that checks it."""

    def __init__(self, fxls: Command) -> None:
        self.fxls = fxls
        self.source = fxls.file(SOURCE)

    def at(self, text: str) -> QuotedPlace:
        lines = self.source.read_text("utf-8").splitlines()
        (line,) = (number for number, one in enumerate(lines) if text in one)
        column = lines[line].index(text)
        span = Span.of(line, column, line, column + len(text))
        place = Place(str(self.source), "forward", span)
        return QuotedPlace(place, lines[line], source_digest(self.source.read_bytes()))

    def ran(self, *events: Event) -> None:
        written(self.fxls.folder / ".fxls", FIRST, *events)

    def whole(self) -> Compilation:
        return Compilation("0/0", "forward", Outcome.OK, place=self.at("def forward"))

    def broken(self) -> tuple[Event, ...]:
        at = self.at('print("ä", x)')
        return (
            Remark(Subject.BREAK, "no print", "0/0", "GB0059", (at,)),
            Compilation("0/0", "forward", Outcome.BREAK, place=self.at("def forward")),
            Compilation("1/0", "forward", Outcome.OK, Cause.CONTINUATION, at),
            Compilation("2/0", "helper", Outcome.OK, place=self.at("def helper")),
        )

    def check(self, *more: str) -> Ended:
        return self.fxls.run("check", *more, "--run=-1")

    def updated(self) -> dict[str, Any]:
        ended = self.check("--update")
        assert (ended.code, ended.out) == (0, "")
        return json.loads(self.baseline.read_bytes())

    @property
    def baseline(self) -> Path:
        return self.fxls.folder / "fxls-baseline.json"


@pytest.fixture
def recorded(fxls: Command) -> Recorded:
    return Recorded(fxls)


def test_a_baseline_is_short_sorted_and_names_no_line(recorded: Recorded) -> None:
    address = "0/0: ___check_obj_id(x, 140353537182720)"
    recorded.ran(
        *recorded.broken(),
        Compilation(
            "2/1",
            "helper",
            Outcome.OK,
            Cause.RECOMPILATION,
            recorded.at("def helper"),
        ),
        Remark(Subject.RECOMPILATION, "", "2/1", about="x: size 0", was="3"),
        Remark(Subject.RECOMPILATION, address, "2/1"),
        Remark(Subject.LIMIT, "limit", "2/8", "", (recorded.at("helper(x):"),)),
        Pass(
            "matcher",
            compilation="0/0",
            patterns=(MatchedPattern("pad", 2), MatchedPattern("mm")),
        ),
        Pass("matcher", compilation="2/1", patterns=(MatchedPattern("mm"),)),
        Pass("decompositions", compilation="0/0", patterns=(MatchedPattern("gelu"),)),
    )
    said = recorded.check("--update").err
    assert said == f"fxls: FOLDER/fxls-baseline.json has '{NAME}': 2 functions\n"
    text = recorded.baseline.read_text("utf-8")
    assert (
        text
        == """\
{
  "programs": {
    "train.py --fast": {
      "functions": {
        "net.py: Net.forward": {
          "break: print(\\"ä\\", x)": 1,
          "graphs": 2
        },
        "net.py: helper": {
          "graphs": 1,
          "limit reached": 1,
          "recompiled: ___check_obj_id(x, …)": 1,
          "recompiled: x: size 0": 1
        }
      },
      "matches": {
        "mm": 1,
        "pad": 2
      }
    }
  },
  "schema": 1
}
"""
    )
    recorded.source.write_text("import os\n\n" + SOURCE, "utf-8")
    recorded.ran(*recorded.broken())
    recorded.updated()
    recorded.source.write_text(SOURCE, "utf-8")
    before = recorded.baseline.read_bytes()
    recorded.ran(*recorded.broken())
    recorded.updated()
    assert recorded.baseline.read_bytes() == before


def test_what_became_worse_fails_with_its_line(recorded: Recorded) -> None:
    recorded.ran(recorded.whole())
    recorded.updated()
    assert recorded.check() == Ended(
        0, f"{NAME}: 0 worse, 0 better than the baseline\n", ""
    )
    recorded.ran(*recorded.broken())
    ended = recorded.check()
    assert ended == Ended(
        1,
        f"""\
net.py:3:9: worse: net.py: Net.forward: break: print("ä", x): 1, was 0
net.py:3:9: problem [GB0059]: Graph break: no print
 3 |         print("ä", x)
   |         ^^^^^^^^^^^^^
note: in 1 compilation: 0/0
note: the rest of the function is 1 compilation more: 1/0
help: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html

net.py:2:5: worse: net.py: Net.forward: graphs: 2, was 1

{NAME}: 2 worse, 0 better than the baseline
help: The same command with --update makes this the baseline.
""",
        "",
    )
    ended = recorded.check("--json")
    found = json.loads(ended.out)
    assert ended.code == 1
    broken, graphs = found.pop("worse")
    assert found == {
        "schema": 1,
        "program": NAME,
        "baseline": "FOLDER/fxls-baseline.json",
        "runs": [FIRST],
        "has_matches": True,
        "better": [],
    }
    assert (graphs["place"]["line"], graphs["remarks"]) == (2, [])
    assert [one["id"] for one in broken.pop("remarks")] == ["GB0059"]
    assert broken.pop("place")["line"] == 3
    assert broken == {
        "function": "net.py: Net.forward",
        "what": 'break: print("ä", x)',
        "was": 0,
        "now": 1,
    }


def test_what_became_better_is_said_and_does_not_fail(recorded: Recorded) -> None:
    matches = Pass("m", compilation="0/0", patterns=(MatchedPattern("pad", 2),))
    recorded.ran(*recorded.broken())
    recorded.updated()
    recorded.ran(recorded.whole(), matches)
    assert recorded.check() == Ended(
        0,
        f"""\
better: net.py: Net.forward: break: print("ä", x): 0, was 1
net.py:2:5: better: net.py: Net.forward: graphs: 1, was 2
better: matches: pad: 2, was 0

{NAME}: 0 worse, 3 better than the baseline
help: The same command with --update makes this the baseline.
""",
        "",
    )


def test_fewer_matches_and_no_graphs_at_all_are_worse(recorded: Recorded) -> None:
    matches = Pass("m", compilation="0/0", patterns=(MatchedPattern("pad", 2),))
    recorded.ran(recorded.whole(), matches)
    recorded.updated()
    recorded.ran(recorded.whole())
    ended = recorded.check()
    assert (ended.code, ended.out.splitlines()[0]) == (
        1,
        "worse: matches: pad: 0, was 2",
    )
    recorded.ran()
    ended = recorded.check()
    assert (ended.code, ended.out.splitlines()[0]) == (1, "worse: graphs: 0, was 1")
    # What comes out of a cache was matched in another run.
    recorded.ran(
        Compilation(
            *("0/0", "forward", Outcome.OK),
            place=recorded.at("def forward"),
            cached=("fx_graph",),
        )
    )
    ended = recorded.check()
    assert (ended.code, ended.err) == (0, "")
    assert (
        "note: a cache had what was compiled: no matches and kernels are compared"
        in ended.out
    )


def test_what_cannot_be_compared_says_what_to_do(recorded: Recorded) -> None:
    recorded.ran(recorded.whole())
    how = "help: The same command with --update writes it; commit the file.\n"
    path = "FOLDER/fxls-baseline.json"
    assert recorded.check() == Ended(
        3, "", f"fxls: error: there is no baseline {path}\n{how}"
    )
    recorded.updated()
    assert recorded.check("--name", "other") == Ended(
        3,
        "",
        f"fxls: error: the baseline {path} does not have the program 'other'\n"
        f"note: it has '{NAME}'\n{how}",
    )
    recorded.ran(recorded.whole(), Truncated(1))
    assert recorded.check() == Ended(
        3,
        "",
        f"fxls: error: the record of {FIRST} is not whole, and is not compared\n"
        "help: Check a shorter run of the program.\n",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<<<<<<< ours", "is no baseline of fxls: JSON is malformed"),
        ('{"schema": 1, "programs": {"a": 1}}', "is no baseline of fxls: Expected"),
        ('{"schema": 2, "programs": []}', "has format 2, from a newer fxls;"),
        ("[" * 100_000, "is no baseline of fxls: "),
    ],
)
def test_a_damaged_baseline_is_one_error(
    recorded: Recorded, text: str, problem: str
) -> None:
    recorded.ran(recorded.whole())
    recorded.baseline.write_text(text, "utf-8")
    for more in ((), ("--update",)):
        ended = recorded.check(*more)
        assert (ended.code, ended.out) == (3, "")
        first, help_ = ended.err.splitlines()
        assert first.startswith(f"fxls: error: FOLDER/fxls-baseline.json {problem}")
        assert help_.startswith("help: Take it from the repository again")
    assert recorded.baseline.read_text("utf-8") == text


def test_a_baseline_that_is_a_link_is_neither_read_nor_written(
    recorded: Recorded,
) -> None:
    recorded.ran(recorded.whole())
    other = recorded.fxls.file("{}", "other.json")
    recorded.baseline.symlink_to(other)
    ended = recorded.check("--update")
    assert (ended.code, other.read_text("utf-8")) == (3, "{}")
    assert ended.err.startswith("fxls: error: FOLDER/fxls-baseline.json: ")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "name the file or the module to run, or a run by --run"),
        (("-",), "a program from standard input has no name: write it into a file"),
        (("--run=-1", "net.py"), "name a program or --run, and not both"),
        (
            ("--entries", "net.py", "net.py"),
            "name a program, --entries or --run: one of them",
        ),
        (("--json", "--update", "x.py"), "not allowed with argument --json"),
    ],
)
def test_a_wrong_command_line_ends_with_two(
    fxls: Command, arguments: tuple[str, ...], problem: str
) -> None:
    ended = fxls.run("check", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(f"{problem}\n")


PROGRAM = """\
import sys; int(sys.argv[1]) and sys.exit(int(sys.argv[1]))
import torch

@torch.compile(backend="eager")
def step(x):
    y = x + 1
    return y * 2

step(torch.ones(3))
print("it ran")
"""


@pytest.mark.slow
def test_a_program_runs_and_is_compared_under_its_command_line(fxls: Command) -> None:
    """It is run three times: for the baseline, with a break more, and failing."""
    fxls.file(PROGRAM, "my train.py")
    ended = fxls.run("check", "--update", "./my train.py", "0")
    assert (ended.code, ended.out) == (0, "")
    assert "it ran\n" in ended.err
    baseline = json.loads((fxls.folder / "fxls-baseline.json").read_bytes())
    assert baseline == {
        "schema": 1,
        "programs": {
            "'my train.py' 0": {
                "functions": {"my train.py: step": {"graphs": 1}},
                "matches": {},
            }
        },
    }
    fxls.file(
        PROGRAM.replace("    return", "    print('no')\n    return"), "my train.py"
    )
    ended = fxls.run("check", "my train.py", "0")
    assert ended.code == 1
    assert ended.out.startswith(
        "my train.py:7:5: worse: my train.py: step: break: print('no'): 1, was 0\n"
        "my train.py:7:5: problem [GB0059]: Graph break: "
    )
    assert (
        "\nmy train.py:4:1: worse: my train.py: step: graphs: 2, was 1\n" in ended.out
    )
    fxls.run("check", "--update", "--name", "failing", "--run=-1")
    ended = fxls.run("check", "--name", "failing", "my train.py", "4")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.endswith(
        "fxls: error: the program ended with 4, and is not compared\n"
    )


FUSED = """\
import torch

@torch.compile
def step(x):
    return torch.relu(x + 1) * 2

x = torch.ones(8, 16)
torch._dynamo.mark_dynamic(x, 0)
step(x)
"""


@pytest.mark.slow
def test_kernels_and_dynamic_sizes_are_of_the_function(fxls: Command) -> None:
    """Two kernels more, because a sort cannot be fused; and a size that is not marked."""
    fxls.file(FUSED, "train.py")
    # What this leaves in the cache does not keep a baseline from being whole.
    assert fxls.run("run", "train.py").code == 0
    assert fxls.run("check", "--update", "train.py").code == 0
    baseline = json.loads((fxls.folder / "fxls-baseline.json").read_bytes())
    assert baseline["programs"]["train.py"] == {
        "functions": {
            "train.py: step": {"dynamic: size 0 of x": 1, "graphs": 1, "kernels": 1}
        },
        "matches": {},
    }
    slower = FUSED.replace("x + 1)", "(x + 1).sort(0).values)")
    fxls.file(
        slower.replace("torch._dynamo.mark", "0 and torch._dynamo.mark"), "train.py"
    )
    ended = fxls.run("check", "train.py", env=GRAPHS_ANEW)
    assert ended.code == 1
    place = "train.py:3:1: worse: train.py: step"
    assert ended.out.split("\n\n")[:2] == [
        f"{place}: dynamic: size 0 of x: 0, was 1",
        f"{place}: kernels: 3, was 1",
    ]


ENTRIES = """\
import torch


# fxls: fast(torch.ones(3))
def step(x):
    return x * 2


fast = torch.compile(step, backend="eager")
"""


@pytest.mark.slow
def test_the_entries_of_a_file_are_compiled_called_and_compared(fxls: Command) -> None:
    fxls.file(ENTRIES)
    ended = fxls.run("check", "--update", "--entries", "net.py")
    assert (ended.code, ended.out) == (0, "")
    baseline = json.loads((fxls.folder / "fxls-baseline.json").read_bytes())
    assert baseline["programs"] == {
        "entries net.py": {
            "functions": {"net.py: step": {"graphs": 1}},
            "matches": {},
        }
    }
    fxls.file(ENTRIES.replace("    return", "    print('no')\n    return"))

    ended = fxls.run("check", "--entries", "./net.py")

    assert ended.code == 1
    assert ended.out.startswith(
        "net.py:6:5: worse: net.py: step: break: print('no'): 1, was 0\n"
    )
    fxls.file(ENTRIES.replace("fast(torch.ones(3))", "fast"))
    ended = fxls.run("check", "--entries", "net.py")
    assert (ended.code, ended.out) == (1, "")
    assert "fxls: error: net.py: no entry has example inputs\n" in ended.err


@pytest.mark.slow
def test_one_entry_is_a_program_of_its_own_in_the_store_of_its_file(
    fxls: Command,
) -> None:
    fxls.file(ENTRIES)
    fxls.file("", "net/pyproject.toml")
    entry = "net.py:fast(torch.ones(2, 2))"

    ended = fxls.run("check", "--update", "--entries", entry)

    assert (ended.code, ended.out) == (0, "")
    baseline = json.loads((fxls.folder / "fxls-baseline.json").read_bytes())
    assert [*baseline["programs"]] == [f"entries {entry}"]
    assert (fxls.folder / ".fxls").is_dir()
    assert not (fxls.folder / "net" / ".fxls").exists()
