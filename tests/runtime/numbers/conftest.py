"""A runtime that keeps graphs and inputs, and is asked where numbers go wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import fxls
from tests.runtime.numbers.looking import Numbers, any_torch, config


@pytest.fixture
def asking() -> str:
    """What else is asked of each graph that is kept."""
    return ""


@pytest.fixture
def numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asking: str
) -> Iterator[Numbers]:
    monkeypatch.setenv("FXLS_COMPARE", f"{os.getpid()}:{1 << 30}::{asking}")
    monkeypatch.setenv("FXLS_RECORD", "1")
    any_torch.compiler.reset()
    fxls.install(tmp_path / ".fxls")
    with config.patch(force_disable_caches=True, compile_threads=1):
        yield Numbers()
    fxls.uninstall()
    any_torch.compiler.reset()
