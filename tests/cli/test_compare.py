"""`fxls compare`: what it says of a program, and what it ends with."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.command import Command

pytestmark = pytest.mark.slow

PROGRAM = """\
import sys

import torch
from torch.nn import functional


def wrong(gm, inputs):
    for node in gm.graph.nodes:
        if node.target is functional.relu:
            node.target = torch.log if "nan" in sys.argv else torch.tanh
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
"""


def test_it_names_who_is_at_fault_and_ends_with_1(fxls: Command) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "net.py", "wrong")

    lines = ended.out.splitlines()
    assert lines[:4] == [
        "error: the backend wrong, in graph 0, 0/0: relu is wrong",
        "  relu, torch.tanh, from net.py:18:12",
        " 18 |     return functional.relu(hidden)",
        "    |            ^^^^^^^^^^^^^^^^^^^^^^^",
    ]
    assert lines[-1] == (
        "1 fault (1 graph, 1 change by passes, 0 decompositions, "
        "0 values of compiled code, 0 compilations more)"
    )
    assert "torch.Size([4, 4])" in ended.err
    assert ended.code == 1


def test_it_ends_with_0_when_nobody_is_at_fault(fxls: Command) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "-m", "net", "right")

    assert ended.out == (
        "nobody is at fault (1 graph, 0 changes by passes, 0 decompositions, "
        "0 values of compiled code, 0 compilations more)\n"
    )
    assert ended.err == "torch.Size([4, 4])\n"
    assert ended.code == 0


def test_json_has_the_place_and_the_evidence_under_documented_keys(
    fxls: Command,
) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "--json", "-W", "ignore", "net.py", "wrong")

    found = json.loads(ended.out)
    (fault,) = found["faults"]
    (node,) = fault["nodes"]
    assert (found["schema"], found["verdict"]) == (1, "fault")
    assert (fault["kind"], fault["name"], fault["ordinal"]) == ("backend", "wrong", 1)
    assert (node["name"], node["target"]) == ("relu", "torch.tanh")
    assert node["place"] == {
        "path": "FOLDER/net.py",
        "function": "f",
        "line": 18,
        "column": 12,
        "end_line": 18,
        "end_column": 35,
    }
    assert node["places"] == [node["place"]]
    assert fault["evidence"]["error"] > 100 * fault["evidence"]["allowed"]
    assert found["not_compared"] == []
    assert (found["reproducer"], found["no_reproducer"]) == (None, None)
    assert found["judged"] == {
        "graphs": 1,
        "passes": 1,
        "decompositions": 0,
        "kernels": 0,
    }
    assert (found["more_compilations"], found["raised"]) == (0, None)
    page = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text("utf-8")
    _, _, section = page.partition("\n## For programs\n")
    printed = set(re.findall(r'"(\w+)": ', ended.out))
    assert printed <= set(re.findall(r"`(\w+)`", section))


def test_a_backend_that_raises_is_at_fault_and_has_no_evidence(fxls: Command) -> None:
    raises = 'raise ValueError("no good")\n    for node'
    fxls.file(PROGRAM.replace("for node", raises, 1))

    text = fxls.run("compare", "net.py", "wrong")
    found = json.loads(fxls.run("compare", "--json", "net.py", "wrong").out)

    assert text.out.splitlines()[:3] == [
        "error: the backend wrong, in graph 0, 0/0: it raises ValueError: no good",
        "  why: no step before it raised",
        "",
    ]
    assert text.code == 1
    (fault,) = found["faults"]
    assert (fault["raised"], fault["evidence"]) == ("ValueError: no good", None)
    assert (found["verdict"], found["raised"]) == ("fault", "BackendCompilerFailed")


def test_a_script_that_shows_the_fault_is_written_and_says_how_sure_it_is(
    fxls: Command,
) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "--reproduce", "shown.py", "--json", "net.py", "wrong")
    again = fxls.run("compare", "--reproduce", "shown.py", "net.py", "wrong")

    reproducer = json.loads(ended.out)["reproducer"]
    text = (fxls.folder / "shown.py").read_text("utf-8")
    said = reproducer.pop("said")
    assert reproducer == {
        "path": "FOLDER/shown.py",
        "nodes": 1,
        "compilations": 0,
        "is_confirmed": True,
        "inputs": "drawn from a seed",
    }
    assert re.fullmatch(r"wrong: off by .+, where .+ is explained by precision", said)
    assert text.startswith(
        '"""wrong replaces nodes by others that compute something else.\n'
    )
    assert f"said there: {said}" in " ".join(text.split())
    assert str(Path.home()) not in text
    assert "fxls" not in text.partition('"""\n')[2]
    assert "shown.py is there already: name a new file" in again.err
    assert again.code == 2


def test_a_value_that_should_be_finite_and_is_not_is_a_fault(fxls: Command) -> None:
    fxls.file(PROGRAM.replace("torch.randn(4, 4), ", "-torch.eye(4), "))

    ended = fxls.run("compare", "net.py", "wrong", "nan")
    as_json = fxls.run("compare", "--json", "net.py", "wrong", "nan")

    lines = ended.out.splitlines()
    assert lines[:2] == [
        "error: the backend wrong, in graph 0, 0/0: relu is wrong",
        "  relu, torch.log, from net.py:18:12",
    ]
    assert lines[4].startswith("  float32, 4x4: off by inf from float64, where ")
    (fault,) = json.loads(as_json.out, parse_constant=pytest.fail)["faults"]
    assert fault["evidence"]["error"] == sys.float_info.max
    assert (ended.code, as_json.code) == (1, 1)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("never", "nobody can say: no compiled graph was called"),
        ("raises", "note: the program ended with ValueError"),
    ],
)
def test_it_ends_with_2_when_nobody_can_say(
    argument: str, said: str, fxls: Command
) -> None:
    fxls.file(PROGRAM)

    ended = fxls.run("compare", "net.py", argument)

    assert said in ended.out
    assert ended.code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="it has no limits of files")
def test_what_fits_neither_into_the_memory_nor_into_a_file_is_said(
    fxls: Command,
) -> None:
    program = PROGRAM.replace("4, 4", "1024, 512", 1).replace("4, 4", "512, 512")
    limit = (
        "import resource\n\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, -1))\n"
    )
    fxls.file(limit + program)

    ended = fxls.run("compare", "--memory", "1", "net.py", "wrong")

    assert (
        "not compared: the captured graph, in graph 0, 0/0: its values need more than "
        "1 MB, and the file for the rest: [Errno 27] File too large" in ended.out
    )
    assert "error" not in ended.out
    assert ended.code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the file or the module to run"),
        (("-c", "print()"), "write the program into a file"),
        (("-i", "net.py"), "leave out -i and -x"),
        (("--memory", "none", "net.py"), "'none' is not a number of MB above 0"),
    ],
)
def test_a_command_line_that_names_no_program_is_refused(
    arguments: tuple[str, ...], said: str, fxls: Command
) -> None:
    ended = fxls.run("compare", *arguments)

    assert said in ended.err
    assert ended.code == 2


def test_a_program_that_is_not_there_is_trouble(fxls: Command) -> None:
    ended = fxls.run("compare", "nowhere.py")

    assert "fxls: error: the program ended with 2" in ended.err
    assert ended.code == 2


NET = """\
import torch
from torch import nn
from torch._inductor import config


class Net(nn.Module):
    # fxls: Net(4)(torch.randn(2, 4))
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        return torch.relu(self.linear(x)).sin()


def wrong(graph):
    for node in graph.nodes:
        if node.target is torch.ops.aten.where.self:
            node.args = (node.args[0], node.args[2], node.args[1])


config.joint_custom_post_pass = wrong
"""


@pytest.mark.parametrize("named", ["net.py:Net", "net.py::Net", "./net.py:Net(4)"])
def test_an_entry_is_compiled_and_led_back_as_a_program_would(
    named: str, fxls: Command
) -> None:
    fxls.file(NET)

    ended = fxls.run("compare", named)

    lines = ended.out.splitlines()
    wrong = "error: the pass joint_custom_post_pass, in graph 0, joint, 0/0"
    assert lines[:4] == [
        f"{wrong}: where is wrong, in the backward of relu",
        "  where, torch.ops.aten.where.self, from net.py:13:16",
        " 13 |         return torch.relu(self.linear(x)).sin()",
        "    |                ^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ]
    assert "  wrong gradients: self.linear.weight, self.linear.bias" in lines
    assert ended.code == 1


def test_what_names_no_entry_is_said(fxls: Command) -> None:
    fxls.file(NET)

    other = fxls.run("compare", "net.py:Nix")
    more = fxls.run("compare", "net.py:Net", "again")
    nowhere = fxls.run("compare", "nowhere.py:Net")
    program = fxls.run("compare", "net.py")

    assert (
        "fxls: error: net.py has no Nix\n"
        "help: Its entries are `Net(4)(torch.randn(2, 4))`.\n" in other.err
    )
    assert other.out == ""
    assert "an entry takes no arguments, as 'again' is one" in more.err
    assert "there is no file nowhere.py" in nowhere.err
    asked = "help: To compare the entry of the file, say `fxls compare"
    assert f"{asked} 'net.py:Net(4)(torch.randn(2, 4))'`.\n" in program.err
    assert {one.code for one in (other, more, nowhere, program)} == {2}


def test_what_dynamo_captured_is_compared_with_python(fxls: Command) -> None:
    fxls.file(
        "import torch\n"
        "\n"
        "factor = [1.0]\n"
        "\n"
        "\n"
        "@torch._dynamo.assume_constant_result\n"
        "def scale():\n"
        "    return factor[0]\n"
        "\n"
        "\n"
        '@torch.compile(backend="aot_eager")\n'
        "def f(x):\n"
        "    return torch.tanh(x) * scale()\n"
        "\n"
        "\n"
        "x = torch.full((2,), 20.0)\n"
        "print(f(x).tolist())\n"
        "factor[0] = 5.0\n"
        "print(f(x).tolist())\n"
    )

    ended = fxls.run("compare", "net.py")

    assert ended.out.splitlines() == [
        "error: Dynamo, in graph 0, 0/0: mul is wrong",
        "  mul, operator.mul, from net.py:13:12",
        " 13 |     return torch.tanh(x) * scale()",
        "    |            ^^^^^^^^^^^^^^^^^^^^^^^",
        "  float32, 2: off by 4 from Python, where 3.81e-05 is explained by precision",
        (
            "  why: the worst element is further away than precision explains; "
            "the function was called once more, by Python alone and on the same values; "
            "in call 2 of its graph, and not in the first"
        ),
        "",
        (
            "1 fault (1 graph, 0 changes by passes, 0 decompositions, "
            "0 values of compiled code, 0 compilations more)"
        ),
    ]
    assert ended.err == "[1.0, 1.0]\n[1.0, 1.0]\n"
    assert ended.code == 1
