"""Shapes in a source are those that its expressions had when they ran."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fxls.cli.followed_program import GRAPHS_ANEW

BY_COMPILE = (
    *("BranchOnSum", "Item", "IntOfTensor", "While", "DictOfBranches"),
    *("Dataclass", "Keywords", "Assert"),
)
"""The models that torch.export refuses as well."""

ROOT = Path(__file__).parents[3]

FEWEST = {
    "eager": 100,
    "aot_eager": 100,
    "inductor": 40,
    "export": 0,
    "exported entry": 100,
    "engine": 50,
}
"""How many hints the models have at least; `docs/features.md` has the counts of twelve."""

EACH = {"inductor": 3}
"""Of each how many models one runs: the kernels of one take half a minute to compile."""


PROGRAM = (sys.executable, "-m", "tests.support.seen_shapes")


@pytest.mark.slow
@pytest.mark.parametrize("backend", FEWEST)
def test_every_hint_is_a_shape_that_a_trace_function_saw(
    backend: str, tmp_path: Path
) -> None:
    said = seen(backend, tmp_path, "models_of_the_field", EACH.get(backend, 1))
    assert sum(one["hints"] for one in said.values()) >= FEWEST[backend]


@pytest.mark.slow
def test_entries_that_ask_for_what_is_traced_have_hints_that_were_seen(
    tmp_path: Path,
) -> None:
    said = seen("entry", tmp_path, "models_refused", 1)
    by_compile = {name for name, one in said.items() if one["by"] == "torch.compile"}
    by_example = {name for name, one in said.items() if one["by"] == "engine"}
    assert by_compile == set(BY_COMPILE)
    assert len(by_example) == len(said) - len(by_compile) == 12


def seen(backend: str, tmp_path: Path, module: str, each: int) -> dict[str, Any]:
    """What is hinted for the models of a module; all of it was seen."""
    ran = subprocess.run(
        [*PROGRAM, backend, str(tmp_path), module, str(each)],
        cwd=ROOT,
        # With a warm cache inductor makes no graphs, whose shapes could be shown.
        env={**os.environ, **GRAPHS_ANEW},
        capture_output=True,
        text=True,
        timeout=600,
    )

    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert {name: one["wrong"] for name, one in said.items() if one["wrong"]} == {}
    return said
