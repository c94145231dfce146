"""Runs programs on the GPU of this machine, under the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

collect_ignore_glob = [] if torch.cuda.is_available() else ["test_*.py"]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def fxls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """What runs fxls in a folder of its own, with caches of its own; the text of the
    program comes first.
    """
    (tmp_path / "pyproject.toml").touch()
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "net.py").write_text(program, "utf-8")
        return subprocess.run(
            [sys.executable, "-m", "fxls", *arguments],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ,
        )

    return run
