"""A store is kept small by age and by size, and what is in use stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

from fxls.store import Pruned, Store, prune
from tests.store.made import NET, made

DAY = 86400


def aged(store: Store, body: str, days: float) -> Path:
    """A listing that was wanted so many days ago for the last time."""
    path = store.materialize(made(body))
    stamp = time.time() - days * DAY
    for file in (path, *(store.root / "facts" / path.stem).iterdir()):
        os.utime(file, (stamp, stamp))
    return path


def size_of(store: Store, path: Path) -> int:
    folder = store.root / "facts" / path.stem
    return sum(file.stat().st_size for file in (path, *folder.iterdir()))


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    old, recent = aged(store, "relu", 31), aged(store, "tanh", 29)
    freed, left = size_of(store, old), size_of(store, recent)
    assert prune(store.root) == Pruned((old.name,), freed, left)
    assert [one.path for one in store.revisions(NET)] == [recent]
    assert sorted(path.name for path in (store.root / "facts").iterdir()) == [
        recent.stem
    ]
    assert prune(store.root) == Pruned((), 0, left)


def test_what_is_too_much_goes_oldest_first_and_nothing_of_today(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / ".fxls")
    ages = {"relu": 3, "tanh": 2, "gelu": 0.5}
    relu, tanh, gelu = (aged(store, body, days) for body, days in ages.items())
    sizes = [size_of(store, path) for path in (relu, tanh, gelu)]
    bound = (sizes[1] + sizes[2]) / 1e6
    assert prune(store.root, megabytes=bound) == Pruned(
        (relu.name,), sizes[0], sizes[1] + sizes[2]
    )
    assert prune(store.root, megabytes=0) == Pruned((tanh.name,), sizes[1], sizes[2])
    assert store.read(gelu) == made("gelu")


def test_what_was_wanted_again_is_young(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    path = aged(store, "relu", 40)
    assert store.materialize(made("relu")) == path
    assert prune(store.root).deleted == ()


def test_what_was_deleted_can_be_written_again(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    path = aged(store, "relu", 40)
    prune(store.root)
    assert not path.exists()
    assert store.materialize(made("relu")) == path
    assert store.read(path) == made("relu")


def test_files_that_are_not_the_stores_stay(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    aged(store, "relu", 40)
    torn = store.root / "tmp" / "1-torn"
    notes = store.root / "notes.py"
    for file in (torn, notes):
        file.touch()
        os.utime(file, (0, 0))
    prune(store.root)
    assert notes.exists()
    assert not torn.exists()


def test_there_may_be_no_store(tmp_path: Path) -> None:
    assert prune(tmp_path / "none") == Pruned((), 0, 0)
    assert list(tmp_path.iterdir()) == []
