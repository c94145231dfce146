"""The engine stays about as much faster than `torch.fx` as docs/performance.md says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_guarded_ratio_has_halved(capsys: pytest.CaptureFixture[str]) -> None:
    # In a process of its own: it freezes the collector, and lifts limits.
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.guard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    with capsys.disabled():
        sys.stdout.write(f"\n{done.stdout}")
    said = done.stdout.splitlines()
    assert [line for line in said if line.startswith("slower than it was")] == []
    assert (done.returncode, done.stderr) == (0, "")
