"""`fxls compare --keep` and `--with`: what they say, and what they end with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.command import Command

pytestmark = pytest.mark.slow

PROGRAM = """\
import os

import torch

library = torch.library.Library("mylib", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * (2 if x.dtype == torch.float64 else BY), "CPU")
library.impl("twice", torch.empty_like, "Meta")
BY = float(os.environ["BY"])


@torch.compile(backend="eager")
def f(x):
    return torch.ops.mylib.twice(x + 1)


f(torch.ones(2, 4) * float(os.environ["ONES"]))
"""


def place(by: str, ones: str = "1") -> dict[str, str]:
    return {"BY": by, "ONES": ones}


def test_the_difference_is_on_its_line_with_both_places_and_ends_with_1(
    fxls: Command,
) -> None:
    fxls.file(PROGRAM)

    kept = fxls.run("compare", "--keep", "there.pt", "net.py", env=place("3"))
    again = fxls.run("compare", "--keep", "there.pt", "net.py", env=place("3"))
    ended = fxls.run("compare", "--with", "there.pt", "net.py", env=place("2"))
    printed = fxls.run(
        *("compare", "--with", "there.pt", "--json", "net.py"), env=place("2", "1.5")
    )

    one = r"torch \S+ on cpu"
    assert re.fullmatch(f"there\\.pt has 1 graph, 2 values of {one}\n", kept.out)
    assert kept.code == 0
    assert "there.pt is there already: name a new file" in again.err
    assert again.code == 2
    *lines, last = ended.out.splitlines()
    far = lines.pop(4)
    assert lines == [
        "error: twice is another value there, in graph 0, 0/0",
        "  twice, torch.ops.mylib.twice, from net.py:14:12",
        " 14 |     return torch.ops.mylib.twice(x + 1)",
        "    |            " + "^" * 28,
        "  why: the worst element is further away than precision explains",
        "",
    ]
    off = "  float32, 2x4: there off by 2 from float64, here by 0; "
    assert re.fullmatch(rf"{off}\d\.\d+e-05 is explained by precision", far)
    both = f"here {one}, there {one}"
    assert re.fullmatch(rf"1 difference \(1 graph, 2 values; {both}\)", last)
    assert ended.code == 1
    found = json.loads(printed.out)
    assert (found["schema"], found["verdict"]) == (1, "differs")
    (difference,) = found["differences"]
    assert (difference["node"], difference["side"]) == ("twice", "there")
    (other,) = found["inputs"]
    assert other["off"] == 0.5
    page = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text("utf-8")
    documented = set(re.findall(r"`(\w+)`", page))
    assert set(re.findall(r'"(\w+)": ', printed.out)) <= documented


def test_both_places_may_compute_the_same_and_a_file_may_be_none(
    fxls: Command,
) -> None:
    fxls.file(PROGRAM)
    fxls.run("compare", "--keep", "there.pt", "net.py", env=place("2"))

    same = fxls.run("compare", "--with", "there.pt", "net.py", env=place("2"))
    none = fxls.run("compare", "--with", "net.py", "net.py", env=place("2"))

    assert same.out.startswith("here and there compute the same (1 graph, 2 values; ")
    assert same.code == 0
    assert none.err == "fxls: error: net.py: it is no file that --keep wrote\n"
    assert none.code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--with", "nowhere.pt"), "there is no file nowhere.pt: --keep writes one"),
        (("--with", "."), "there is no file .: --keep writes one"),
        (
            ("--keep", "there.pt", "--reproduce", "wrong.py"),
            "argument --reproduce: not allowed with argument --keep",
        ),
    ],
)
def test_what_cannot_be_meant_is_said_before_the_program_runs(
    fxls: Command, options: tuple[str, ...], said: str
) -> None:
    fxls.file("print('it ran')\n")

    ended = fxls.run("compare", *options, "net.py")

    assert ended.err.splitlines()[-1] == f"fxls compare: error: {said}"
    assert (ended.code, ended.out) == (2, "")
    assert "it ran" not in ended.err


def test_of_a_program_without_a_compiled_graph_nothing_is_kept(fxls: Command) -> None:
    fxls.file("print(1)\n")

    ended = fxls.run("compare", "--keep", "there.pt", "net.py")

    assert ended.out == (
        "nobody can say: no value of a compiled graph is known (0 graphs, 0 values)\n"
    )
    assert ended.code == 2
    assert not (fxls.folder / "there.pt").exists()
