"""The marker and the fixture for tests of programs, in a pytest of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

PLUGIN = "fxls.pytest_plugin"
_OPTIONS = ("-p", PLUGIN, "-p", "no:cacheprovider", "--strict-markers", "-q")


def said_of(folder: Path, text: str, *more: str) -> tuple[int, str]:
    """What pytest says of a file in a folder, and what it ends with."""
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (folder / "test_net.py").write_text(text, "utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *_OPTIONS, *more],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_pytest_finds_the_plugin_by_the_name_that_p_takes() -> None:
    """Under another name, `-p fxls.pytest_plugin` would register it twice."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


def test_who_does_not_use_the_plugin_imports_neither_torch_nor_the_rest(
    tmp_path: Path,
) -> None:
    code, said = said_of(
        tmp_path,
        """\
import sys

def test_nothing():
    assert "torch" not in sys.modules
    ours = {name for name in sys.modules if name.partition(".")[0] == "fxls"}
    assert ours == {"fxls", "fxls._version", "fxls.pytest_plugin"}
""",
    )
    assert (code, "1 passed" in said) == (0, True), said


TESTS = """\
import pytest
import torch

def net(x):
    return x * 2 + 1

def broken(x):
    y = x + 1
    print("loss")
    return y * 2

def run(function, *sizes):
    compiled = torch.compile(function, backend="eager")
    for size in sizes:
        compiled(torch.ones(size))

@pytest.mark.compiles
def test_one_graph():
    run(net, 2)

@pytest.mark.compiles
def test_a_break():
    run(broken, 2)

@pytest.mark.compiles
def test_no_graph():
    pass

@pytest.mark.compiles(graphs=2, recompilations=2)
def test_enough():
    run(broken, 2, 3)

@pytest.mark.compiles(graphs=None, recompilations=1)
def test_again():
    run(broken, 2, 3)

@pytest.mark.compiles
def test_fails_by_itself():
    run(broken, 2)
    raise ValueError("its own")

@pytest.mark.compiles(graph=2)
def test_of_another_word():
    pass

def test_the_fixture(compiled):
    run(net, 2)
    compiled.assert_graphs()
    compiled.assert_recompilations()
    run(net, 3, 4)
    assert (compiled.graphs, compiled.recompilations) == (1, 1)
    compiled.assert_recompilations(at_most=1)
    compiled.assert_recompilations()
"""


@pytest.mark.slow
def test_a_test_fails_with_the_lines_that_torch_compile_could_not_do(
    tmp_path: Path,
) -> None:
    code, said = said_of(tmp_path, TESTS, "-rf")
    assert code == 1
    failed = [line for line in said.splitlines() if line.startswith("FAILED ")]
    assert [line.split(" - ")[0].split("::")[1] for line in failed] == [
        "test_a_break",
        "test_no_graph",
        "test_again",
        "test_fails_by_itself",
        "test_of_another_word",
        "test_the_fixture",
    ], said
    assert "2 passed" in said
    assert "torch.__trace" not in said
    sections = {
        one.partition(" ")[0]: one.partition("\n")[2]
        for one in said.replace("_ test_", "\0test_").split("\0")[1:]
    }
    assert sections["test_a_break"].startswith(
        "torch.compile made 2 graphs, and at most 1 are wanted\n\n"
        "test_net.py:9:5: problem [GB0059]: Graph break: "
    )
    assert (
        '\n 9 |     print("loss")\n   |     ^^^^^^^^^^^^^\n' in sections["test_a_break"]
    )
    assert sections["test_no_graph"].startswith("torch.compile made no graph\n")
    assert sections["test_again"].startswith(
        "there were 2 recompilations, and at most 1 are wanted\n\n"
    )
    assert "Recompiled because of x: size 0, which was 2" in sections["test_again"]
    assert "ValueError: its own" in sections["test_fails_by_itself"]
    assert sections["test_of_another_word"].startswith("the marker `compiles` takes ")
    fixture = sections["test_the_fixture"]
    assert "AssertionError: there was 1 recompilation, and at most 0" in fixture
    assert ">       compiled.assert_recompilations()" in fixture or (
        ">   " in fixture and "compiled.assert_recompilations()" in fixture
    )
