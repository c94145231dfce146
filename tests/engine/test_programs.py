"""Whole programs, each for one thing that programs do with FX, print what they should.

A program is a file of ``programs``, and what it prints stands beside it. torch.fx runs the
same programs, with its name in the imports, and has to print the same.
``FXLS_UPDATE=1 pytest tests/engine/test_programs.py`` writes the outputs anew; the diff is
to be reviewed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch.fx

from fxls import engine as fx

PROGRAMS = Path(__file__).parent / "programs"

NOT_OF_TORCH_FX = {"inputs_in_one_list_by_the_first_name"}
"""What torch.fx had once, and has no more."""

INTERACTIVE = {"stepping"}

NAMES = sorted({path.stem for path in PROGRAMS.glob("*.py")} - INTERACTIVE)


def run(path: Path, engine: ModuleType = fx) -> list[str]:
    """What a program prints; it has the file's name, so its source can be found."""
    text = path.read_text("utf-8").replace(
        "from fxls import engine as fx", "import fxls.engine as fx"
    )
    text = text.replace("fxls.engine", engine.__name__)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(path), "exec"), {"__name__": f"program_{path.stem}"})
    return re.sub("0x[0-9a-f]+", "0x7f0000000000", printed.getvalue()).splitlines()


def shown(name: str) -> list[str]:
    return (PROGRAMS / f"{name}.out").read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_a_program_prints_what_stands_beside_it(name: str) -> None:
    path = PROGRAMS / f"{name}.py"

    printed = run(path)

    if os.environ.get("FXLS_UPDATE"):
        path.with_suffix(".out").write_text("\n".join([*printed, ""]), "utf-8")
    else:
        assert printed == shown(name)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in NOT_OF_TORCH_FX])
def test_a_program_prints_the_same_with_torch_fx(name: str) -> None:
    assert run(PROGRAMS / f"{name}.py", torch.fx) == shown(name)


@pytest.mark.slow
def test_pdb_steps_into_the_generated_code() -> None:
    root = str(PROGRAMS.parents[2])

    ran = subprocess.run(
        [sys.executable, str(PROGRAMS / "stepping.py")],
        # The first look at the code makes it, so that no step goes through the making.
        input="p recorded.forward\n" + "step\n" * 20 + "continue\n",
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "-> finish = recorded(start)" in ran.stdout
    assert '-> _0 = getattr(self, "0")(input_1);  input_1 = None' in ran.stdout
