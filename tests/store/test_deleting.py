"""What a person throws away is gone, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxls.listing import Identity
from fxls.store import NotAListing, Store, Unwritable
from tests.store.made import NET, as_anybody, made, names_below

OTHER = Identity("net", "Net", stage="fuse")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".fxls")


def test_a_listing_that_was_deleted_is_a_revision_of_nobody(store: Store) -> None:
    relu, tanh = store.materialize(made("relu")), store.materialize(made("tanh"))
    store.materialize(made("tanh", identity=OTHER))

    store.delete(tanh)

    assert [one.path for one in store.revisions(NET)] == [relu]
    assert store.newest(OTHER) is None
    assert names_below(store.root / "facts") == [
        name for name in names_below(store.root / "facts") if relu.stem in name
    ]
    with pytest.raises(NotAListing):
        store.read(tanh)


def test_a_listing_that_was_deleted_can_be_made_again(store: Store) -> None:
    path = store.materialize(made("relu"))
    store.delete(path)
    store.delete(path)
    watcher = Store(store.root)
    bookmark = watcher.changes_since(None).bookmark

    assert store.materialize(made("relu")) == path
    assert [one.path for one in watcher.changes_since(bookmark).revisions] == [path]
    assert store.read(path) == made("relu")
    assert [one.path for one in store.revisions(NET)] == [path]


def test_an_identity_that_was_forgotten_leaves_what_is_anothers(store: Store) -> None:
    relu, tanh = store.materialize(made("relu")), store.materialize(made("tanh"))
    store.materialize(made("tanh", identity=OTHER))
    watched = Store(store.root)
    bookmark = watched.changes_since(None).bookmark

    assert store.forget(NET) == (relu,)

    assert store.identities() == (OTHER,)
    assert store.revisions(NET) == ()
    assert store.read(tanh) == made("tanh", identity=OTHER)
    assert not relu.exists()
    assert watched.changes_since(bookmark).revisions == ()
    assert store.forget(NET) == ()


def test_what_is_not_a_listing_cannot_be_deleted(store: Store, tmp_path: Path) -> None:
    mine = tmp_path / "net.py"
    mine.touch()

    with pytest.raises(NotAListing):
        store.delete(mine)

    assert mine.exists()


def test_a_store_that_may_only_be_read_says_so(store: Store, tmp_path: Path) -> None:
    path = store.materialize(made("relu"))
    tmp_path.chmod(0o755)
    store.root.chmod(0o555)
    with as_anybody():
        with pytest.raises(Unwritable, match=path.name):
            store.delete(path)
        with pytest.raises(Unwritable, match="jsonl"):
            store.forget(NET)
    store.root.chmod(0o755)

    assert store.read(path) == made("relu")
    assert store.identities() == (NET,)
