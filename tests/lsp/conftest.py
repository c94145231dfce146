"""The project of most conversations: one model, and a listing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxls.store import Store
from tests.support.projects import SOURCE, net_listing


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a model, of which no listing was made."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text(SOURCE)
    return tmp_path


@pytest.fixture
def listing(project: Path) -> Path:
    """The path of the listing of the model."""
    return Store(project / ".fxls").materialize(net_listing(project))
