"""Which records `prune` deletes, which blobs, and which listings stay for a record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fxls.record import End, InBlob, Made, Pass, RevisionName
from fxls.store import Store, prune
from fxls.store.run_pruning import MOST_BYTES
from fxls.store.runs import record_path, run_ids, summary_path
from tests.store.made import NET
from tests.store.made import made as listing
from tests.store.test_runs import GONE, lines, run, write

DAY = 86400.0
NOW = 1_000 * DAY


def made(root: Path, day: int, *, pid: int = GONE, blob: str = "") -> str:
    """A run of some days ago."""
    name = f"2026{1000 - day:04}T000000Z-host-7-0123abcd"
    events = [InBlob("remark", blob, 9)] if blob else []
    path = write(root, lines(run(name, pid), *events, End()), name)
    summary_path(root, name).write_text("{}")
    at = NOW - day * DAY
    os.utime(path, (at, at))
    return name


def blob(root: Path, letter: str, day: int) -> str:
    path = root / "runs" / "blobs" / (letter * 32)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    os.utime(path, (NOW - day * DAY, NOW - day * DAY))
    return path.name


def test_old_runs_go_with_their_summaries_and_those_that_live_stay(
    tmp_path: Path,
) -> None:
    old, new = made(tmp_path, 40), made(tmp_path, 20)
    living = made(tmp_path, 50, pid=os.getpid())

    pruned = prune(tmp_path, now=NOW)

    assert pruned.runs == (old,)
    assert set(run_ids(tmp_path)) == {new, living}
    assert not summary_path(tmp_path, old).exists()
    assert summary_path(tmp_path, new).exists()
    assert pruned.said() == "0 and 1 run deleted, 0.0 MB; 0.0 MB stay"


def test_all_go_when_all_are_to_go_and_none_in_a_rehearsal(tmp_path: Path) -> None:
    names = {made(tmp_path, day) for day in (0, 5)}
    living = made(tmp_path, 1, pid=os.getpid())

    assert set(prune(tmp_path, now=NOW, is_all=True, is_rehearsal=True).runs) == names
    assert len(run_ids(tmp_path)) == 3
    assert set(prune(tmp_path, now=NOW, is_all=True).runs) == names
    assert run_ids(tmp_path) == (living,)


def test_of_too_much_the_oldest_go_but_none_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_BYTES > 1 << 20
    monkeypatch.setattr("fxls.store.run_pruning.MOST_BYTES", 500)
    oldest, older = made(tmp_path, 4), made(tmp_path, 3)
    newer, today = made(tmp_path, 2), made(tmp_path, 0)
    size = record_path(tmp_path, today).stat().st_size
    monkeypatch.setattr("fxls.store.run_pruning.MOST_BYTES", 2 * size)

    assert prune(tmp_path, now=NOW).runs == (oldest, older)
    assert set(run_ids(tmp_path)) == {newer, today}


def test_blobs_go_that_no_record_names_a_day_later(tmp_path: Path) -> None:
    named = blob(tmp_path, "a", 5)
    made(tmp_path, 5, blob=named)
    gone, new = blob(tmp_path, "b", 5), blob(tmp_path, "c", 0)

    prune(tmp_path, now=NOW)

    left = {path.name for path in (tmp_path / "runs" / "blobs").iterdir()}
    assert (left, gone in left) == ({named, new}, False)


def test_what_is_no_record_goes_by_its_age_and_no_link_is_followed(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    path = record_path(tmp_path / ".fxls", "x")
    path.parent.mkdir(parents=True)
    path.symlink_to(kept)

    prune(tmp_path / ".fxls", is_all=True)

    assert kept.read_text() == "mine"


def test_listings_that_runs_name_stay_while_their_processes_are_there(
    tmp_path: Path,
) -> None:
    """However old they are, and however large the store is."""
    store = Store(tmp_path)
    bodies = ("relu", "tanh", "gelu", "selu", "celu", "mish")
    names = [store.materialize(listing(body)).name for body in bodies]
    for name in names:
        folder = tmp_path / "facts" / name.removesuffix(".py")
        for path in (tmp_path / name, *folder.iterdir(), folder):
            os.utime(path, (NOW - 40 * DAY, NOW - 40 * DAY))
    revisions = [RevisionName(NET, name) for name in names]
    made_by, before, after, of_dead = revisions[:4]
    living = f"2026{1:04}T000000Z-host-7-0123abcd"
    dead = f"2026{2:04}T000000Z-host-7-0123abcd"
    ran = Pass("p", changed=True, before=before, after=after)
    write(tmp_path, lines(run(living, os.getpid()), Made(made_by), ran), living)
    write(tmp_path, lines(run(dead), Made(of_dead), End()), dead)

    pruned = prune(tmp_path, days=30, megabytes=0, now=NOW)

    assert set(pruned.deleted) == set(names[3:])
    assert {path.name for path in tmp_path.glob("*.py")} == set(names[:3])


def test_of_a_damaged_record_what_can_be_read_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.materialize(listing("relu"))
    text = lines(run(pid=os.getpid()), Made(RevisionName(NET, path.name)))
    write(tmp_path, text + b"{torn\n" + b'{"half')

    assert prune(tmp_path, is_all=True).deleted == ()
    assert prune(tmp_path, days=1, megabytes=0, now=NOW * 100).deleted == ()
