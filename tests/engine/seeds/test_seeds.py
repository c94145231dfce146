"""The programs of FX's own documents run, and print what the documents show.

Each block of code in them is a program in ``data``, as short as it is there, with what it
prints beside it. The documents are of several years, so names and texts are those of
torch.fx as it is installed: it runs the same programs, with its name in the imports.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"

NOT_OF_TORCH_FX = {"list_codegen_prologue"}
"""What the documents have, and torch.fx no more."""

INTERACTIVE = {"stepping"}

PROGRAMS = sorted(path.stem for path in DATA.glob("*.py"))


def run(path: Path, text: str) -> list[str]:
    """What a program prints; it has the file's name, so its source can be found."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(path), "exec"), {"__name__": f"seed_{path.stem}"})
    return re.sub("0x[0-9a-f]+", "0x7f0000000000", printed.getvalue()).splitlines()


def shown(name: str) -> list[str]:
    return (DATA / f"{name}.out").read_text().splitlines()


@pytest.mark.parametrize("name", [p for p in PROGRAMS if p not in INTERACTIVE])
def test_a_program_prints_what_is_shown(name: str) -> None:
    path = DATA / f"{name}.py"

    assert run(path, path.read_text()) == shown(name)


@pytest.mark.parametrize(
    "name", [p for p in PROGRAMS if p not in NOT_OF_TORCH_FX | INTERACTIVE]
)
def test_a_program_prints_the_same_with_torch_fx(name: str) -> None:
    path = DATA / f"{name}.py"
    text = path.read_text().replace(
        "from fxls import engine as fx", "from torch import fx"
    )

    assert run(path, text.replace("fxls.engine", "torch.fx")) == shown(name)


@pytest.mark.slow
def test_pdb_steps_into_the_generated_code() -> None:
    ran = subprocess.run(
        [sys.executable, str(DATA / "stepping.py")],
        # The first look at the code makes it, so that no step goes through the making.
        input="p my_module_transformed.forward\n" + "step\n" * 20 + "continue\n",
        cwd=DATA.parents[3],
        env={**os.environ, "PYTHONPATH": str(DATA.parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "-> my_module_transformed(input_value)" in ran.stdout
    assert '-> _0 = getattr(self, "0")(input_1);  input_1 = None' in ran.stdout
