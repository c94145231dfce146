"""Workers that tests share, because each has to import torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fxls.host.settings import WorkerSettings
from tests.worker.asking import Asking


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """One worker for all tests that leave it as it was."""
    asking = Asking(
        tmp_path_factory.mktemp("shared"), WorkerSettings(memory_limit=1 << 29)
    )
    yield asking
    asking.close()


@pytest.fixture
def worker(shared: Asking, tmp_path: Path) -> Asking:
    """The shared worker, with a folder and a memory for what was printed of its own."""
    shared.folder = tmp_path
    shared.store = tmp_path / ".fxls"
    shared.printed.clear()
    shared.statuses.clear()
    return shared


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[WorkerSettings], Asking]]:
    """Starts a worker for one test alone."""
    started: list[Asking] = []

    def begin(settings: WorkerSettings) -> Asking:
        started.append(Asking(tmp_path, settings))
        return started[-1]

    yield begin
    for asking in started:
        asking.close()
