"""`fxls compare --break-on`: whether the model makes NaN, or its compiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said

pytestmark = pytest.mark.slow

PROGRAM = """\
import sys

import torch
from torch._inductor import config


@torch.compile
def f(x):
    scaled = x * 2
    logged = torch.log(scaled - 1)
    return logged.relu() + 1


@torch.compile
def g(x):
    return (x.sqrt() * 0 + x).sum()


def wrong(graph):
    for node in graph.nodes:
        if node.target is torch.ops.aten.relu.default:
            node.target = torch.ops.aten.sqrt.default


if "pass" in sys.argv:
    config.joint_custom_post_pass = wrong
if "back" in sys.argv:
    for value in (1.0, 0.0):
        x = torch.full((4,), value, requires_grad=True)
        g(x).backward()
else:
    lowest = 0.7 if "pass" in sys.argv else 0.2
    for start in (2.0, 1.5, lowest):
        print(f(torch.full((4,), start)))
"""


def test_a_model_that_makes_nan_in_a_later_call_is_named_with_its_inputs(
    fxls: Command,
) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "--break-on", "nan,inf", "net.py")

    lines = ended.out.splitlines()
    value = "min -0.6 max -0.6 mean -0.6, [-0.6, -0.6, -0.6, -0.6]"
    assert lines[:-1] == [
        "found: nan: logged gives it, 4 of 4 are NaN, in graph 0, 0/0",
        "  logged, torch.log, from net.py:10:14",
        " 10 |     logged = torch.log(scaled - 1)",
        "    |              ^^^^^^^^^^^^^^^^^^^^^",
        f"  with sub: float32 (4,) cpu, {value}",
        "  why: the model computes it: no step of the compiler makes it otherwise",
        "",
    ]
    assert lines[-1].startswith("1 finding (1 graph, ")
    assert ended.code == 1


def test_a_gradient_that_is_nan_is_found_in_compiled_code(fxls: Command) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "--break-on", "grad-nan", "--json", "net.py", "back")

    found = json.loads(ended.out)
    (finding,) = found["findings"]
    (node,) = finding["nodes"]
    assert (finding["rule"], finding["stage"]) == (
        *("grad-nan", "graph 0, backward, post-grad"),
    )
    assert node["backward_of"] == "sqrt"
    assert (node["place"]["line"], node["place"]["column"]) == (16, 13)
    assert (found["verdict"], found["faults"]) == ("fault", [])


def test_a_pass_that_makes_nan_of_some_values_is_a_fault_with_a_script(
    fxls: Command,
) -> None:
    fxls.file(PROGRAM)

    first = fxls.run("compare", "net.py", "pass")
    broken = fxls.run(
        *("compare", "--break-on", "nan", "--reproduce", "shown.py", "net.py", "pass")
    )

    assert "nobody is at fault" not in first.out, "sqrt is no relu anywhere"
    assert broken.out.splitlines()[:3] == [
        "error: the pass joint_custom_post_pass, in graph 0, joint, 0/0: relu is wrong",
        "  relu, torch.ops.aten.sqrt.default, from net.py:11:12",
        " 11 |     return logged.relu() + 1",
    ]
    assert (fxls.folder / "shown.py").exists()


def test_a_rule_that_only_a_watched_program_breaks_is_refused(fxls: Command) -> None:
    ended = fxls.run("compare", "--break-on", "shape", "net.py")

    assert ended.err.splitlines()[-1] == (
        "fxls compare: error: argument --break-on: shape is a rule of `fxls run`:"
        " here are nan, inf and grad-nan"
    )
    assert ended.code == 2


@pytest.mark.parametrize(
    ("arguments", "node", "right"),
    [
        (("nan", "net.py"), "logged", ("-0.6", "0.6")),
        (("grad-nan", "net.py", "back"), "div", ("* 0 + 0.0", "* 0 + 1.0")),
    ],
)
def test_nan_of_the_model_has_a_script_of_one_node(
    arguments: tuple[str, ...],
    node: str,
    right: tuple[str, str],
    fxls: Command,
    tmp_path: Path,
) -> None:
    fxls.file(PROGRAM)
    words = "wrong: 4 of 4 are NaN"

    ended = fxls.run("compare", "--reproduce", "shown.py", "--break-on", *arguments)

    text = (fxls.folder / "shown.py").read_text("utf-8")
    assert ended.out.splitlines()[-2] == (
        f"reproducer: shown.py (1 node, 0 compilations); it was run by itself, and said: {words}"
    )
    assert text.startswith(f'"""{node} gives NaN of these inputs.\n')
    assert said(text, tmp_path) == WRONG
    assert said(text.replace(*right), tmp_path) == RIGHT
