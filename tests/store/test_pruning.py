"""A store is kept small by age and by size, and what is in use stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

from fxls.listing import Identity
from fxls.store import Pruned, Store, prune, prune_seldom
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


def test_a_log_goes_when_it_is_old_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    kept = Identity("net", "Kept")
    recent = Identity("net", "Recent")
    aged(store, "relu", 40)
    store.materialize(made("tanh", identity=kept))
    gone = store.materialize(made("gelu", identity=recent))
    old = time.time() - 40 * DAY
    for log in (store.root / "log").iterdir():
        if "Recent" not in log.name:
            os.utime(log, (old, old))
    gone.unlink()
    prune(store.root)
    names = [path.name.partition("-")[0] for path in (store.root / "log").iterdir()]
    assert sorted(names) == ["net.Kept", "net.Recent"]


def test_without_being_asked_it_is_done_once_a_day(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    first = aged(store, "relu", 40)
    pruned = prune_seldom(store.root)
    assert pruned is not None
    assert pruned.deleted == (first.name,)
    second = aged(store, "tanh", 40)
    assert prune_seldom(store.root) is None
    stamp = store.root / "tmp" / "pruned"
    for days in (-1, 1):  # the clock was set back since, or a day went by
        at = time.time() - days * DAY
        os.utime(stamp, (at, at))
        pruned = prune_seldom(store.root)
        assert pruned is not None
        assert pruned.deleted == (second.name,)
        assert prune_seldom(store.root) is None
        second = aged(store, "tanh", 40)


def test_there_may_be_no_store(tmp_path: Path) -> None:
    assert prune(tmp_path / "none") == Pruned((), 0, 0)
    assert prune_seldom(tmp_path / "none") is None
    assert list(tmp_path.iterdir()) == []
