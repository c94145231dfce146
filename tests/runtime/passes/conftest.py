"""What an installation notes of passes, for one test."""

from __future__ import annotations

from typing import Any

import pytest

from fxls.record import Pass
from fxls.runtime import installing
from fxls.runtime.record.recorder import Stamped, Writes
from fxls.store import Store


class Hearing:
    """A writer of records beside which somebody hears of passes."""

    def __init__(self, writer: Writes) -> None:
        self._writer = writer
        self.passes: list[Pass] = []

    def put(self, one: Stamped, /) -> None:
        if isinstance(one[0], Pass):
            self.passes.append(one[0])
        self._writer.put(one)

    def flush(self) -> None:
        self._writer.flush()

    def finish(self, end: Stamped, /) -> None:
        self._writer.finish(end)


@pytest.fixture
def noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[Pass]:
    """The passes that the runtime notes, in the order in which they end."""
    assert store
    return heard(monkeypatch).passes


def heard(monkeypatch: pytest.MonkeyPatch) -> Hearing:
    """What is noted from now on by what is installed."""
    installation = installing.current()
    assert installation is not None
    recorder: Any = installation.recorder
    hearing = Hearing(recorder._writer)
    monkeypatch.setattr(recorder, "_writer", hearing)
    return hearing
