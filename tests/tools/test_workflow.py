"""The workflow for GitHub names what there is: versions, targets, tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fxls.installed_torch import OLDEST, is_at_least

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PROJECT: Any = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

STEPS = re.findall(r"run: (.*)", WORKFLOW)
(MATRIX,) = re.findall(r"torch: \[(.*)\]", WORKFLOW)
TORCHES = re.findall(r'"([\d.]+)"', MATRIX)
PYTHONS = set(re.findall(r'python(?:-version)?: \[?"([\d.]+)"', WORKFLOW))


def test_the_default_torch_is_that_of_the_makefile() -> None:
    (default,) = re.findall(r"^TORCH := torch==([\d.]+)$", MAKEFILE, re.M)
    assert f"python -m pip install torch=={default}" in STEPS
    assert default in TORCHES


def test_every_torch_that_fxls_works_with_is_tried() -> None:
    assert TORCHES[0] == f"{OLDEST}.0"
    assert all(is_at_least(one, OLDEST) for one in TORCHES)
    minors = [int(one.split(".")[1]) for one in TORCHES]
    assert minors == list(range(minors[0], minors[-1] + 1))


def test_every_python_that_fxls_names_is_tried() -> None:
    named = [
        one.rpartition(" ")[2]
        for one in PROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: \d\.\d+", one)
    ]
    assert set(named) <= PYTHONS
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert oldest == min(PYTHONS, key=lambda one: int(one.partition(".")[2]))


def test_its_steps_can_be_run() -> None:
    targets = re.findall(r"^([a-z]+):", MAKEFILE, re.M)
    for step in STEPS:
        if made := re.match(r"make (\w+)", step):
            assert made[1] in targets
        for left_out in re.findall(r"--ignore (\S+)", step):
            assert (ROOT / left_out).is_dir()
        for marked in re.findall(r"-m 'not (\w+)'", step):
            assert PROJECT["tool"]["pytest"]["ini_options"]["markers"][0].startswith(
                f"{marked}:"
            )
        for extra in re.findall(r"'\.\[(\w+)\]'", step):
            assert extra in PROJECT["project"]["optional-dependencies"]
        for module in re.findall(r"python -m (fxls|tools)\b", step):
            assert (ROOT / module).is_dir()
