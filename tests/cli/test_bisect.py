"""`fxls bisect`: which step of a compiler breaks what a function checks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.command import Command

pytestmark = pytest.mark.slow

PROGRAM = """\
import os
import sys

import torch
from torch.nn import functional


def wrong(gm, inputs):
    for node in gm.graph.nodes:
        if node.target is functional.relu:
            node.target = torch.tanh
    gm.recompile()
    return gm.forward


@torch.compile(backend=wrong if "wrong" in sys.argv else "aot_eager")
def f(x, w):
    hidden = x @ w
    return functional.relu(hidden)


if "never" not in sys.argv:
    print(f(torch.randn(4, 4), torch.randn(4, 4)).shape)
if "raises" in sys.argv:
    raise ValueError("too bad")
os.chdir("/")
"""

CHECKS = """\
def is_positive(gm, inputs):
    (result,) = gm(*inputs)
    assert (result >= 0).all(), f"the least is {result.min() < 0}"


def has_relu(gm, inputs):
    return "relu" in str([node.target for node in gm.graph.nodes])


def has_no_product(gm, inputs):
    gm.graph.lint()
    return "@" not in gm.code


def is_confused(gm, inputs):
    inputs[0].add_(1)
    return inputs[7]
"""


@pytest.fixture
def program(fxls: Command) -> Command:
    fxls.file(PROGRAM)
    fxls.file(CHECKS, "checks.py")
    return fxls


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("checks.py:is_positive", "AssertionError: the least is True"),
        ("checks:has_relu", "it returned False"),
    ],
)
def test_it_names_the_step_that_made_a_graph_bad_and_ends_with_1(
    check: str, reason: str, program: Command
) -> None:
    ended = program.run("bisect", "--check", check, "net.py", "wrong")

    assert ended.out.splitlines() == [
        "bad: wrong, in graph 0, 0/0",
        f"  {reason}",
        "1 step made a graph bad (1 compilation, 2 graphs tested)",
    ]
    assert ended.code == 1


def test_it_ends_with_0_when_all_graphs_are_good(program: Command) -> None:
    ended = program.run("bisect", "--check", "checks.py:is_positive", "-m", "net")

    assert re.fullmatch(
        r"all graphs are good \(1 compilation, \d graphs tested\)\n", ended.out
    )
    assert ended.code == 0


def test_a_graph_that_was_bad_as_it_was_captured_is_no_pass_to_blame(
    program: Command,
) -> None:
    ended = program.run(
        "bisect", "--json", "--check", "checks.py:has_no_product", "net.py"
    )

    found = json.loads(ended.out)
    assert found == {
        "schema": 1,
        "verdict": "bad",
        "found": [
            {
                "compilation": "0/0",
                "stage": "graph 0",
                "name": "",
                "ordinal": 1,
                "reason": "it returned False",
            }
        ],
        "not_tested": [],
        "compilations": 1,
        "tested": 1,
        "refused": None,
        "raised": None,
    }
    page = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text("utf-8")
    _, _, section = page.partition("\n## A check of your own\n")
    assert set(found) - {"schema"} <= set(re.findall(r"`(\w+)`", section))


@pytest.mark.parametrize(
    ("check", "argument", "said"),
    [
        ("checks.py:is_confused", "wrong", "IndexError('list index out of range')"),
        ("checks.py:is_positive", "never", "nobody can say (0 compilations"),
        ("checks.py:is_positive", "raises", "note: the program ended with ValueError"),
        ("checks:nothing", "right", "error: checks:nothing cannot be loaded"),
    ],
)
def test_it_ends_with_125_when_nobody_can_say(
    check: str, argument: str, said: str, program: Command
) -> None:
    ended = program.run("bisect", "--check", check, "net.py", argument)

    assert said in ended.out
    assert ended.code == 125


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("is_positive", "write FILE.py:FUNCTION or module:function"),
        ("checks.py:none", "checks.py has no function none at its top level"),
        ("nowhere.py:none", "nowhere.py cannot be read"),
    ],
)
def test_a_function_that_is_not_there_is_refused_before_the_program_runs(
    check: str, said: str, program: Command
) -> None:
    ended = program.run("bisect", "--check", check, "net.py")

    assert said in ended.err
    assert "torch.Size" not in ended.err
    assert ended.code == 125
