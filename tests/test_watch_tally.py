"""The last line of a watched program says what was watched, and what was found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.slow

MODEL = """
    import sys
    import torch
    import torch.fx

    class Rooted(torch.nn.Module):
        def forward(self, x):
            return torch.sqrt(x) + 1

    gm = torch.fx.symbolic_trace(Rooted())
    """
FOUND = (
    "fxls: watched for nan in 2 calls of 1 graph: 1 finding, nan: node sqrt of Rooted,"
    " line 6 of Rooted_"
)


def last_line(
    folder: Path, program: str, *arguments: str, code: int = 0, rules: str = "nan"
) -> str:
    """What comes last on standard error when a program is watched."""
    (folder / "program.py").write_text(dedent(MODEL) + dedent(program), "utf-8")
    ran = run(folder, rules, *(arguments or ("program.py",)))
    assert ran.returncode == code, f"{ran.stdout}\n{ran.stderr}"
    return ran.stderr.splitlines()[-1]


def run(
    folder: Path, rules: str, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fxls", "run", "--break-on", rules, *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


TWICE = "for _ in range(2): gm(torch.tensor([-1.0]))\n"


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError", 1),
        ("raise KeyboardInterrupt", -2),
    ],
)
def test_it_comes_last_however_python_ends(
    tmp_path: Path, ends: str, code: int
) -> None:
    assert last_line(tmp_path, TWICE + ends, code=code).startswith(FOUND)


def test_it_says_when_there_was_nothing_to_watch(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("import torch\nprint(torch.ones(1))\n", "utf-8")
    assert run(tmp_path, "nan,inf", "none.py").stderr == (
        "fxls: nothing was watched for nan, inf, because the program made no graph\n"
    )
    assert last_line(tmp_path, "") == (
        "fxls: nothing was watched for nan: the program made 1 graph, and it was not"
        " called"
    )


def test_it_says_when_nothing_was_found(tmp_path: Path) -> None:
    assert last_line(tmp_path, "gm(torch.ones(1))\n", rules="nan,grad-nan") == (
        "fxls: watched for nan, grad-nan in 1 call of 1 graph: no findings"
    )


def test_it_counts_what_is_found(tmp_path: Path) -> None:
    said = last_line(tmp_path, "gm(torch.tensor([-1.0, torch.inf]))\n", rules="nan,inf")
    assert said.startswith(
        "fxls: watched for nan, inf in 1 call of 1 graph: 2 findings, the first"
        " inf: node x of Rooted"
    ), said


def test_it_reaches_a_person_through_the_capture_of_pytest(tmp_path: Path) -> None:
    test = "def test_it():\n    for _ in range(2): gm(torch.tensor([-1.0]))\n"
    (tmp_path / "test_model.py").write_text(dedent(MODEL) + test, "utf-8")
    # The options of the run that this test is part of are not those of the person's.
    ran = run(
        tmp_path,
        "nan",
        *("-m", "pytest", "-q", "-p", "no:cacheprovider"),
        env={"PYTEST_ADDOPTS": ""},
    )
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.splitlines()[-1].startswith("1 passed")
    assert ran.stderr.splitlines()[-1].startswith(FOUND)
    assert ran.stderr.count("node sqrt") == 1, "the report itself was captured"


def test_a_child_that_makes_no_graph_says_nothing(tmp_path: Path) -> None:
    program = """
        import os, subprocess
        subprocess.run([sys.executable, "-c", "print(1)"], check=True)
        gm(torch.ones(1))
        """
    (tmp_path / "program.py").write_text(dedent(MODEL) + dedent(program), "utf-8")
    assert run(tmp_path, "nan", "program.py").stderr == (
        "fxls: watched for nan in 1 call of 1 graph: no findings\n"
    )


def test_a_program_that_stops_watching_has_no_such_line(tmp_path: Path) -> None:
    program = """
        import fxls
        fxls.break_on()
        """
    (tmp_path / "program.py").write_text(dedent(MODEL) + dedent(program), "utf-8")
    assert run(tmp_path, "nan", "program.py").stderr == ""


COMPILED = """
    @torch.compile(backend="eager")
    def f(x):
        return torch.sqrt(x)

    f(torch.tensor([-1.0]))
    """


def test_of_what_torch_compile_made_it_says_what_to_run_next(tmp_path: Path) -> None:
    said = last_line(tmp_path, COMPILED, rules="nan,shape")

    assert said == (
        "help: `fxls compare --break-on nan` and the same program say whether the model"
        " makes it or its compiler, and with --reproduce a script"
    )
