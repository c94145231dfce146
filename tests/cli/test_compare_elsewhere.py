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

    version = re.escape(kept.out.partition(" torch ")[0])
    assert re.fullmatch(f"{version} torch \\S+ on cpu\n", kept.out)
    assert kept.out.startswith("there.pt has 1 graph, 2 values of torch ")
    assert kept.code == 0
    assert "there.pt is there already: name a new file" in again.err
    assert again.code == 2
    *lines, _ = ended.out.splitlines()
    assert lines == [
        "error: twice is another value there, in graph 0, 0/0",
        "  twice, torch.ops.mylib.twice, from net.py:14:12",
        " 14 |     return torch.ops.mylib.twice(x + 1)",
        "    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        *lines[4:5],
        "  why: the worst element is further away than precision explains",
        "",
    ]
    assert lines[4].startswith(
        "  float32, 2x4: there off by 2 from float64, here by 0; "
    )
    assert "1 difference (1 graph, 2 values; here torch " in ended.out
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


def test_of_a_program_without_a_compiled_graph_nothing_is_kept(fxls: Command) -> None:
    fxls.file("print(1)\n")

    ended = fxls.run("compare", "--keep", "there.pt", "net.py")

    assert ended.out == (
        "nobody can say: no value of a compiled graph is known (0 graphs, 0 values)\n"
    )
    assert ended.code == 2
    assert not (fxls.folder / "there.pt").exists()
