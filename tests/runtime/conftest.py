"""A store that the runtime is installed with for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fxls
from fxls.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    root = tmp_path / ".fxls"
    assert fxls.install(root) == root
    yield Store(root)
    fxls.uninstall()
