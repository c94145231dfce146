"""What the server tells the stores of what clients do."""

from __future__ import annotations

from pathlib import Path

from fxls.serving.library import Library
from fxls.store import Store, prune
from tests.store.made import made


def test_what_a_client_opened_stays_when_the_store_is_too_large(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    opened, other, newest = (
        store.materialize(made(body)) for body in ("relu", "tanh", "gelu")
    )
    Library().look(str(opened))
    assert prune(store.root, megabytes=1e-6).deleted == (other.name,)
    assert opened.exists()
    assert newest.exists()
