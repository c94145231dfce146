"""`fxls bisect`: which setting of torch, and which commit, is behind a fault."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from fxls.cli.searches.trials import smallest
from tests.cli.command import Command

PROGRAM = """\
import torch
import torch._functorch.config as config
from torch.nn import functional


def wrong(gm, inputs):
    for node in gm.graph.nodes:
        if node.target is functional.relu and config.cse:
            node.target = torch.tanh
    gm.recompile()
    return gm.forward


@torch.compile(backend=wrong)
def f(x, w):
    return functional.relu(x @ w)


config.cse = True
print(f(torch.randn(4, 4), torch.randn(4, 4)).shape)
"""

COUNT = 40


@pytest.mark.parametrize(
    "needed", [[0], [39], [17], [3, 30], [0, 1], [5, 6, 39], [*range(COUNT)]]
)
def test_what_is_needed_together_is_found_and_nothing_else(needed: list[int]) -> None:
    asked: list[Sequence[str]] = []

    def is_enough(names: Sequence[str]) -> bool:
        asked.append(names)
        return {str(one) for one in needed} <= {*names}

    found = smallest([str(one) for one in range(COUNT)], is_enough)

    assert found == [str(one) for one in needed]
    if len(needed) == 1:
        assert len({tuple(one) for one in asked}) <= 14


def test_where_all_together_are_not_enough_there_is_nothing() -> None:
    assert smallest(["a", "b"], lambda _: False) is None


@pytest.mark.slow
def test_the_setting_is_found_though_the_program_sets_it_itself(fxls: Command) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("bisect", "--settings", "net.py")

    lines = ended.out.splitlines()
    assert lines[:2] == [
        "bad: backend wrong, in graph 0: relu is wrong",
        "right with: torch._functorch.config.cse = False",
    ]
    assert lines[2].startswith("1 setting of ")
    assert "run 1: bad" in ended.err.splitlines()
    assert ended.code == 1


@pytest.mark.slow
def test_the_first_bad_commit_is_found_and_nothing_of_the_repository_is_touched(
    fxls: Command,
) -> None:
    repository = _repository(
        fxls.folder,
        PROGRAM.replace("torch.tanh", "node.target"),
        PROGRAM.replace("torch.tanh", "no.such.name"),
        PROGRAM + "# wrong from here on\n",
        PROGRAM + "# and here\n",
    )
    fxls.file("an edit that nobody committed")
    before = _git(fxls.folder, "status", "--porcelain")

    ended = fxls.run(
        "bisect", "--json", "--commits", f"{repository[0]}..HEAD", "net.py"
    )

    found = json.loads(ended.out)
    assert (found["verdict"], found["what"]) == (
        "bad",
        "backend wrong, in graph 0: relu is wrong",
    )
    # Nobody can say of the second one, which ends with an error of its own.
    assert found["commits"] == [f"{repository[at][:7]} {at}" for at in (1, 2)]
    assert (found["runs"], found["open_runs"]) == (4, 1)
    said = [line for line in ended.err.splitlines() if line.startswith("run ")]
    assert said[:2] == [
        f"run 1 of {repository[3][:7]} 3: bad",
        f"run 2 of {repository[0][:7]} 0: good",
    ]
    assert sorted(line.partition(" of ")[2] for line in said[2:]) == sorted(
        [f"{repository[1][:7]} 1: open", f"{repository[2][:7]} 2: bad"]
    )
    assert ended.code == 1
    assert _git(fxls.folder, "status", "--porcelain") == before
    assert _git(fxls.folder, "worktree", "list").count("\n") == 0
    assert (fxls.folder / "net.py").read_text("utf-8").startswith("an edit")
    assert _git(fxls.folder, "for-each-ref", "refs/bisect") == ""


@pytest.mark.slow
def test_what_is_no_commit_is_said_and_ends_as_git_expects(fxls: Command) -> None:
    fxls.file(PROGRAM)
    _repository(fxls.folder, PROGRAM)

    ended = fxls.run("bisect", "--commits", "nothing..HEAD", "net.py")

    assert (ended.out, ended.code) == ("", 125)
    assert ended.err.startswith("fxls: error: git rev-parse: ")


def test_one_has_to_say_what_is_searched(fxls: Command) -> None:
    ended = fxls.run("bisect", "net.py")

    assert "say --check, --settings or --commits, and say it before the program" in (
        ended.err
    )
    assert ended.code == 2


def _repository(folder: Path, *texts: str) -> list[str]:
    """Commits of one program, whose subjects are their numbers."""
    _git(folder, "init", "--quiet")
    commits: list[str] = []
    for number, text in enumerate(texts):
        (folder / "net.py").write_text(text, "utf-8")
        _git(folder, "add", "net.py", "pyproject.toml")
        _git(folder, "commit", "--quiet", "-m", str(number))
        commits.append(_git(folder, "rev-parse", "HEAD"))
    return commits


def _git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return subprocess.run(
        ["git", *who, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
