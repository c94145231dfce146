"""The command line in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.fixture
def fxls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.delenv("FXLS_STORE", raising=False)
    return Command(tmp_path)
