"""A store on another machine is read from a copy that follows it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fxls import record
from fxls.listing import Identity, Listing
from fxls.record import End, Entry, InBlob, Remark, Subject, run_summary
from fxls.store import Store
from fxls.store.following import Follower
from fxls.store.remote import Mirror, Unreachable
from fxls.store.runs import Runs, blob_name, summary_path
from tests.store.made import NET, made, names_below
from tests.support.records import FIRST, SECOND, written
from tests.support.ssh_server import ssh_server

OTHER = Identity("net", "Other")


@pytest.fixture
def there(tmp_path: Path) -> Store:
    return Store(tmp_path / "there über %" / ".fxls")


@pytest.fixture(params=["file", "memory", "ssh"])
def mirror(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    there: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Mirror]:
    """A copy of the store `there`, over each kind of file system."""
    copies = tmp_path / "copies"
    path = quote(str(there.root))
    if request.param == "file":
        yield Mirror(f"file://{path}", copies)
    elif request.param == "memory":
        yield InMemory(f"memory://{path}", copies, there.root)
    else:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        with ssh_server(home) as url:
            yield Mirror(f"{url}{path}", copies)


class InMemory(Mirror):
    """A mirror of what another process would have in its memory."""

    def __init__(self, url: str, folder: Path, original: Path) -> None:
        super().__init__(url, folder)
        self._original = original

    def pull(self) -> None:
        memory: Any = import_module("fsspec").filesystem("memory")
        for name in names_below(self._original):
            path, data = (
                f"{self._original}/{name}",
                (self._original / name).read_bytes(),
            )
            if not memory.exists(path) or memory.cat_file(path) != data:
                memory.pipe_file(path, data)
        super().pull()


def newest(store: Store, identity: Identity = NET) -> Listing:
    revision = store.newest(identity)
    assert revision is not None
    return store.read_revision(revision)


@pytest.mark.slow
def test_a_copy_is_as_the_original_and_follows_it(mirror: Mirror, there: Store) -> None:
    there.materialize(made("relu"))
    there.materialize(made("tanh", identity=OTHER))
    mirror.pull()
    here = Store(mirror.root)
    assert here.identities() == (NET, OTHER)
    assert newest(here) == made("relu")
    bookmark = here.changes_since(None).bookmark

    there.materialize(made("sigmoid"))
    there.materialize(made("sigmoid", size=5))
    mirror.pull()
    assert newest(here) == made("sigmoid", size=5)
    assert [r.path.name for r in here.revisions(NET)] == [
        r.path.name for r in there.revisions(NET)
    ]
    path = here.path_of("Net", made("sigmoid").text)
    assert here.instances(path) == (made("sigmoid", size=5), made("sigmoid"))
    assert len(here.changes_since(bookmark).revisions) == 2

    before = {name: os.stat(mirror.root / name) for name in names_below(mirror.root)}  # noqa: PTH116
    mirror.pull()
    assert before == {name: os.stat(mirror.root / name) for name in before}  # noqa: PTH116


@pytest.mark.slow
def test_records_of_runs_are_as_there_and_follow_them(
    mirror: Mirror, there: Store
) -> None:
    root = there.root
    first = tuple(Remark(Subject.BREAK, f"{at} " + "x" * 900) for at in range(10))
    long = Remark(Subject.SKIPPED, "y" * 20_000)
    blob = record.encode(Entry(0, 0, 0.0, 0.0, long))
    named = InBlob("remark", blob_name(blob), len(blob))

    def found() -> dict[str, bytes]:
        folder = mirror.root / "runs"
        return {name: (folder / name).read_bytes() for name in names_below(folder)}

    def original() -> dict[str, bytes]:
        folder = root / "runs"
        return {name: (folder / name).read_bytes() for name in names_below(folder)}

    written(root, FIRST, *first)
    (root / "runs" / "blobs").mkdir()
    (root / "runs" / "blobs" / named.name).write_bytes(blob)
    mirror.pull()
    assert found() == {f"{FIRST}.jsonl": original()[f"{FIRST}.jsonl"]}
    part = Runs(mirror.root, print).read(FIRST)
    assert [one.event for one in part.entries] == [*first]

    written(root, FIRST, *first, named, End())
    written(root, SECOND, End())
    summary = run_summary.encode(Runs(root, print).newest()[0].summary)
    summary_path(root, SECOND).write_bytes(summary)
    mirror.pull()
    assert found() == original()
    more = Runs(mirror.root, print).read(FIRST, part.bookmark)
    assert [one.event for one in more.entries] == [long, End()]

    before = {name: os.stat(mirror.root / name) for name in names_below(mirror.root)}  # noqa: PTH116
    mirror.pull()
    assert before == {name: os.stat(mirror.root / name) for name in before}  # noqa: PTH116


def test_what_is_damaged_there_is_not_copied(tmp_path: Path, there: Store) -> None:
    path = there.materialize(made("relu"))
    there.materialize(made("tanh", identity=OTHER))
    path.write_text("# edited\n", "utf-8")
    mirror = Mirror(f"file://{there.root}", tmp_path / "copies")
    mirror.pull()
    assert Store(mirror.root).identities() == (OTHER,)


def test_what_was_deleted_there_stays_for_a_day(tmp_path: Path, there: Store) -> None:
    path = there.materialize(made("relu"))
    there.materialize(made("tanh"))
    mirror = Mirror(f"file://{there.root}", tmp_path / "copies")
    mirror.pull()
    there.delete(path)
    mirror.pull()
    copy = mirror.root / path.name
    assert copy.exists()
    old = time.time() - 90000
    os.utime(copy, (old, old))
    mirror.pull()
    assert not copy.exists()
    assert newest(Store(mirror.root)) == made("tanh")

    there.materialize(made("relu"))
    mirror.pull()
    assert newest(Store(mirror.root)) == made("relu")


def test_a_name_of_facts_leads_nowhere_else(tmp_path: Path, there: Store) -> None:
    there.materialize(made("relu"))
    (log,) = (there.root / "log").iterdir()
    facts = there.revisions(NET)[-1].facts
    log.write_text(log.read_text("utf-8").replace(facts, "../../../stolen"), "utf-8")
    (there.root / "stolen").write_text("anything", "utf-8")
    mirror = Mirror(f"file://{there.root}", tmp_path / "copies")
    mirror.pull()
    assert [n for n in names_below(tmp_path / "copies") if "log" not in n] == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "file:///no/such/folder/.fxls",
            "there is no such folder. A program that runs there under fxls makes it.",
        ),
        (
            "s3://bucket/.fxls",
            (
                "Install s3fs to access S3. Install it where fxls runs;"
                " `pip install 'fxls[remote]'` is enough for ssh://."
            ),
        ),
        (
            "paper://desk/.fxls",
            (
                "Protocol not known: paper. Check the address and the connection."
                " What was read of it before is still shown."
            ),
        ),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(Unreachable) as raised:
        Mirror(url, tmp_path).pull()
    assert str(raised.value) == f"{url}: {said}"


@pytest.mark.slow
def test_a_host_that_is_not_known_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with ssh_server(tmp_path) as url:
        (tmp_path / ".ssh" / "known_hosts").write_text("", "utf-8")
        with pytest.raises(Unreachable, match="Host key is not trusted"):
            Mirror(f"{url}/", tmp_path / "copies").pull()


@pytest.mark.slow
def test_a_copy_follows_until_it_is_closed_and_through_an_absence(
    tmp_path: Path, there: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fxls.store.following._EVERY", 0.05)
    troubles: list[str] = []
    follower = Follower(
        Mirror(f"file://{there.root}", tmp_path / "copies"),
        lambda trouble: troubles.append(type(trouble).__name__),
    )
    here = Store(follower.root)
    while not troubles:
        assert here.identities() == ()
    there.materialize(made("relu"))
    while here.identities() != (NET,):
        assert troubles == ["Unreachable"]
    assert newest(here) == made("relu")
    follower.close()
