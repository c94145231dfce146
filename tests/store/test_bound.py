"""A store stays within its bound while programs write to it, and keeps what is needed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fxls.listing import Identity, Listing
from fxls.store import Store, StoreError
from fxls.store.pruning import MEGABYTES
from tests.store.made import NET, made


def revision(number: int, size: int, identity: Identity = NET) -> Listing:
    listing = made("relu", identity=identity)
    text = listing.text + f"# {number}\n" + "#" * size + "\n"
    return msgspec.structs.replace(listing, text=text)


def megabytes(root: Path) -> float:
    """What listings take; others may delete some meanwhile."""
    size = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                size += Path(folder, name).stat().st_size
    logs = sum(log.stat().st_size for log in root.glob("log/*"))
    return (size - logs) / 1e6


def test_a_graph_that_is_always_compiled_anew_fills_no_disk(tmp_path: Path) -> None:
    store = Store(tmp_path / ".fxls")
    store.bound.megabytes = 2
    runs: list[Path] = []
    store.bound.keep(lambda: runs)
    other = store.materialize(revision(0, 50_000, Identity("net", "Other")))
    looked_at = store.materialize(revision(-1, 50_000))
    store.look(looked_at)
    runs.append(store.materialize(revision(-2, 50_000)))
    last = other
    for number in range(200):
        last = store.materialize(revision(number, 50_000))
        if not number % 10:
            assert megabytes(store.root) <= 2
    assert 1 < megabytes(store.root) <= 2
    for path in (other, looked_at, *runs, last):
        assert store.read(path).nodes == made("relu").nodes
    recent = [one.path for one in store.revisions(NET)][-20:]
    assert recent == [
        store.path_of("Net", revision(number, 50_000).text)
        for number in range(180, 200)
    ]


def test_many_short_programs_count_together(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    for number in range(60):
        store = Store(root)
        store.bound.megabytes = 1
        store.materialize(revision(number, 50_000))
        store.bound.count()
    assert 0.5 < megabytes(root) <= 1


WRITER = """\
import sys
from pathlib import Path
from fxls.listing import Identity
from fxls.store import Store
from tests.store.test_bound import revision

store = Store(Path(sys.argv[1]))
store.bound.megabytes = 3
rank = int(sys.argv[2])
for number in range(150):
    store.materialize(revision(1000 * rank + number, 50_000, Identity("n", "Net", rank=rank)))
store.bound.count()
"""


@pytest.mark.slow
def test_processes_write_to_one_store_and_somebody_reads(tmp_path: Path) -> None:
    root = tmp_path / ".fxls"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(rank)])
        for rank in range(3)
    ]
    reports: list[StoreError] = []
    store = Store(root, report=reports.append)
    largest, reads = 0.0, 0
    while any(writer.poll() is None for writer in writers):
        for identity in store.identities():
            revisions = store.revisions(identity)
            if revisions:
                assert store.read(revisions[-1].path).identity.qualname == "Net"
                reads += 1
        largest = max(largest, megabytes(root))
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    # The others go on while one deletes; all together they wrote 22 MB.
    assert largest <= 6
    assert reads > 10
    assert reports == []
    for rank in range(3):
        newest = store.newest(Identity("n", "Net", rank=rank))
        assert newest is not None
        last = revision(1000 * rank + 149, 50_000, Identity("n", "Net", rank=rank))
        assert store.read_revision(newest) == last


@pytest.mark.slow
def test_a_bound_is_kept_by_what_would_fill_it_eight_times(tmp_path: Path) -> None:
    # 10,000 recompilations of 1,000 nodes are 2 GB; all here is a hundredth of that.
    store = Store(tmp_path / ".fxls")
    assert store.bound.megabytes == MEGABYTES
    bound = store.bound.megabytes = MEGABYTES / 100
    for number in range(1000):
        store.materialize(revision(number, 20_000))
        if not number % 100:
            assert megabytes(store.root) <= bound
    assert bound / 2 < megabytes(store.root) <= bound
    assert store.read(store.path_of("Net", revision(999, 20_000).text))
