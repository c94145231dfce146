"""Shapes in a source are those that its expressions had when they ran."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

FEWEST = {"eager": 100, "aot_eager": 100, "inductor": 100, "export": 0, "engine": 50}
"""How many hints twelve models have at least; `docs/features.md` has the counts."""


@pytest.mark.slow
@pytest.mark.parametrize("backend", FEWEST)
def test_every_hint_is_a_shape_that_a_trace_function_saw(
    backend: str, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.seen_shapes", backend, str(tmp_path)],
        cwd=ROOT,
        # With a warm cache inductor makes no graphs, whose shapes could be shown.
        env={**os.environ, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )

    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert {name: one["wrong"] for name, one in said.items() if one["wrong"]} == {}
    assert sum(one["hints"] for one in said.values()) >= FEWEST[backend]
