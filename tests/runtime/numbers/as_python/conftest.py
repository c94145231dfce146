"""A runtime that keeps graphs and inputs, and asks Python what it does in their place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import fxls
from tests.runtime.numbers.looking import Numbers, any_torch


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Numbers]:
    monkeypatch.setenv("FXLS_COMPARE", f"{os.getpid()}:{1 << 30}::python")
    monkeypatch.setenv("FXLS_RECORD", "1")
    any_torch.compiler.reset()
    fxls.install(tmp_path / ".fxls")
    yield Numbers()
    fxls.uninstall()
    any_torch.compiler.reset()
