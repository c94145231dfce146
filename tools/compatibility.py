"""Runs the tests with another torch and Python, and writes docs/compatibility.md.

    python -m tools.compatibility --torch 2.15.0 --python 3.13
    python -m tools.compatibility --interpreter ENVIRONMENT/bin/python -- tests/engine

The first makes an environment in .cache/compatibility and runs every test in it, the
second takes an environment that is there, and gives pytest what follows the dashes.
Where all of it takes too long, `--every 2/9` among these takes each ninth test, and the
row says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compatibility.md"
ENVIRONMENTS = ROOT / ".cache" / "compatibility"

_HEAD = """\
# Compatibility

fxls needs torch 2.11 or newer and Python 3.11 or newer; `fxls doctor` says what works where you are.
`make compat TORCH=2.15.0 PYTHON=3.13` makes an environment, runs the tests in it, and writes the row of this table.
A row says which tests ran, and nothing of those that did not; `--every 2/9` is each ninth test of those that it names, the third first.
A test that failed, was mended and then passed by itself counts as passed.

"""
_COLUMNS = ("torch", "Python", "debugpy", "tests", "passed", "failed", "what is off")


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one run."""

    torch: str
    python: str
    debugpy: str
    tests: str
    passed: int
    failed: int
    off: tuple[str, ...]

    def line(self) -> str:
        """The row of the table."""
        tests = f"`{self.tests}`" if self.tests else "all"
        cells = (self.torch, self.python, self.debugpy, tests)
        off = "; ".join(self.off) or "nothing"
        return f"| {' | '.join(cells)} | {self.passed} | {self.failed} | {off} |"

    @property
    def start(self) -> str:
        """What the row that it takes the place of begins with."""
        return " | ".join(self.line().split(" | ")[:4]) + " |"


def written(page: str, row: Row) -> str:
    """The page with this row, in order, in the place of an earlier one."""
    lines = [line for line in page.splitlines() if line.startswith("| 2.")]
    lines = [line for line in lines if not line.startswith(row.start)]
    lines = sorted([*lines, row.line()])
    head = [f"| {' | '.join(_COLUMNS)} |", "|" + "---|" * len(_COLUMNS)]
    return _HEAD + "\n".join([*head, *lines]) + "\n"


def environment(torch: str, python: str) -> Path:
    """The interpreter of an environment with these versions; makes it if need be."""
    folder = ENVIRONMENTS / f"torch-{torch}-python-{python}"
    bin_ = folder / ("Scripts" if os.name == "nt" else "bin")
    interpreter = bin_ / ("python.exe" if os.name == "nt" else "python")
    if (folder / "installed").exists():
        return interpreter
    own = shutil.which(f"python{python}")
    if own is None:
        raise SystemExit(f"there is no python{python} on the PATH: install it")
    subprocess.run([own, "-m", "venv", folder], check=True)
    project: Any = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    others = [
        one
        for one in project["project"]["optional-dependencies"]["dev"]
        if not one.startswith("torchvision")
    ]
    pip = [interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    # The torchvision that belongs to this torch.
    subprocess.run([*pip, f"torch=={torch}", "torchvision"], check=True)
    subprocess.run([*pip, "-e", str(ROOT), *others], check=True)
    (folder / "installed").touch()
    return interpreter


def run(interpreter: Path, arguments: Sequence[str]) -> Row:
    """Run the tests, and ask the doctor what is off."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            interpreter,
            "-m",
            "pytest",
            "-q",
            f"--junitxml={report}",
            *arguments,
        ]
        subprocess.run(command, cwd=ROOT, check=False)
        suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None, "pytest wrote no report"
    total, failures, errors, skipped = (
        int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    doctor = [interpreter, "-m", "fxls", "doctor", "--json"]
    told = subprocess.run(doctor, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(told.stdout)
    versions = found["versions"]
    return Row(
        versions["torch"].partition("+")[0],
        ".".join(versions["python"].split(".")[:2]),
        versions["debugpy"] or "none",
        said(arguments),
        total - failed - skipped,
        failed,
        tuple(problem for part in found["parts"] for problem in part["problems"]),
    )


def said(arguments: Sequence[str]) -> str:
    """The arguments of pytest that choose tests, as they are written in a shell."""
    return _UNSAID.sub("", shlex.join(arguments))


_UNSAID = re.compile(r"(?:-n|--maxprocesses|--dist) \S+ ?|-p no:cacheprovider ?")


def main() -> int:
    """Run the tests of one pair of versions, and write its row."""
    parser = argparse.ArgumentParser(description="Try fxls with other versions.")
    parser.add_argument("--torch", help="the version of torch, as 2.15.0")
    parser.add_argument("--python", help="the version of Python, as 3.13")
    parser.add_argument("--interpreter", type=Path, help="an environment that is there")
    parser.add_argument("arguments", nargs="*", help="for pytest, behind --")
    options = parser.parse_args()
    if options.interpreter is None and None in (options.torch, options.python):
        parser.error("name a torch and a Python, or an interpreter")
    for given in (options.torch, options.python):
        if given is not None and not given[:1].isdigit():
            parser.error(f"{given} is no version: make compat TORCH=2.15.0 PYTHON=3.13")
    interpreter = options.interpreter or environment(options.torch, options.python)
    row = run(interpreter, options.arguments)
    page = PAGE.read_text("utf-8") if PAGE.exists() else ""
    PAGE.write_text(written(page, row), "utf-8")
    print(row.line())
    return row.failed > 0


if __name__ == "__main__":
    sys.exit(main())
