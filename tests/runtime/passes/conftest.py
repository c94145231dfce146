"""What an installation notes of passes, for one test."""

from __future__ import annotations

from typing import Any

import pytest

from fxls.record import Pass
from fxls.runtime import installing
from fxls.store import Store


@pytest.fixture
def noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[Pass]:
    """The passes that the runtime notes, in the order in which they end."""
    assert store
    installation = installing.current()
    assert installation is not None
    recorder: Any = installation.recorder
    put, found = recorder._put, list[Pass]()

    def heard(stamped: Any) -> None:
        if isinstance(stamped[0], Pass):
            found.append(stamped[0])
        if put is not None:
            put(stamped)

    monkeypatch.setattr(recorder, "_put", heard)
    return found
