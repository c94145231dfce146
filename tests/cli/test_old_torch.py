"""A torch that is too old: what judges a program says so in a sentence, and runs nothing."""

from __future__ import annotations

import sys

import pytest

from tests.cli.command import Command

SAID = (
    f"fxls: error: fxls needs torch 2.11 or newer, and {sys.executable} has torch 2.9.1\n"
    "help: Install torch 2.11 or newer into this interpreter; `fxls doctor` says what"
    " works there.\n"
)
PROGRAM = """
    print("it runs")

    def is_right(graph):
        return True
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("compare net.py", 2),
        ("compare --break-on nan net.py", 2),
        ("compare --keep values.safetensors net.py", 2),
        # For `git bisect run`, any other code were a verdict.
        ("bisect --check net.py:is_right net.py", 125),
        ("bisect --settings net.py", 125),
        ("check --update net.py", 2),
        ("debug net.py", 2),
    ],
)
def test_it_is_refused_before_the_program_runs(
    fxls: Command, arguments: str, code: int
) -> None:
    fxls.file(PROGRAM)
    # What pip leaves beside a torch, for whoever asks which one it is.
    fxls.file(
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n",
        "old/torch-2.9.1.dist-info/METADATA",
    )
    old = str(fxls.folder / "old")
    ended = fxls.run(*arguments.split(), env={"PYTHONPATH": old})
    assert (ended.code, ended.out, ended.err) == (code, "", SAID)


@pytest.mark.slow
def test_one_of_which_nobody_knew_before_it_was_imported_is_said_as_well(
    fxls: Command,
) -> None:
    """As a torch that was built from its source; nothing of fxls fails behind it."""
    fxls.file("import torch\ntorch.__version__ = '2.9.1'\n", "old/sitecustomize.py")
    fxls.file(
        "import torch, torch.fx\n"
        "print(torch.fx.symbolic_trace(torch.nn.ReLU())(torch.ones(1)))\n"
    )
    old = str(fxls.folder / "old")
    ended = fxls.run("compare", "net.py", env={"PYTHONPATH": old})
    assert ended.code == 2
    assert ended.err == (
        "the program runs without fxls: fxls needs torch 2.11 or newer, and"
        f" {sys.executable} has torch 2.9.1\ntensor([1.])\n"
    )
    assert ended.out == (
        "nobody can say: no compiled graph was called (0 graphs, 0 changes by passes,"
        " 0 decompositions, 0 values of compiled code, 0 compilations more)\n"
    )
