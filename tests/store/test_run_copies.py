"""The records of runs of a store on another machine are copied, as far as they grew."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fxls import record
from fxls.record import Compilation, End, Entry, Event, InBlob, Outcome, Remark, Subject
from fxls.store.remote import Mirror
from fxls.store.runs import BLOBS, FOLDER, Runs, blob_name, record_path, run_ids
from tests.store.made import as_anybody, names_below
from tests.support.records import FIRST, SECOND, written

THIRD = "20260104T030405Z-host-9-0123abcd"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    root = tmp_path / "there" / ".fxls"
    (root / FOLDER).mkdir(parents=True)
    return root


@pytest.fixture
def mirror(tmp_path: Path, there: Path) -> Mirror:
    return Mirror(f"file://{there}", tmp_path / "copies")


def remarks(count: int) -> tuple[Event, ...]:
    """So many events, of some 300 bytes each."""
    return tuple(Remark(Subject.BREAK, f"{at} " + "x" * 200) for at in range(count))


def events(mirror: Mirror, run: str) -> tuple[Event, ...]:
    troubles: list[Exception] = []
    part = Runs(mirror.root, troubles.append).read(run)
    assert (troubles, part.left_out) == ([], 0)
    return tuple(one.event for one in part.entries)


def put_in_blob(root: Path, run: str, event: Event) -> Path:
    """Let the record of a run be one event, which lies beside it."""
    content = record.encode(Entry(0, 0, 0.0, 0.0, event))
    path = root / FOLDER / BLOBS / blob_name(content)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    written(root, run, InBlob(record.kind_of(event), path.name, len(content)))
    return path


def test_of_a_record_that_grows_what_is_new_is_read(
    mirror: Mirror, there: Path
) -> None:
    written(there, FIRST, *remarks(30))
    mirror.pull()
    path = record_path(there, FIRST)
    before = path.read_bytes()
    written(there, FIRST, *remarks(40))
    grown = path.read_bytes()
    # No program changes what it has written: it is a way to see what is read.
    path.write_bytes(grown.replace(b"0 xx", b"0 yy", 1) + b'{"half a line')
    mirror.pull()
    assert record_path(mirror.root, FIRST).read_bytes() == grown
    assert grown.startswith(before)
    assert record_path(mirror.root, FIRST).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("count", [20, 30, 40])
def test_a_record_that_another_took_the_place_of_is_copied_anew(
    count: int, mirror: Mirror, there: Path
) -> None:
    written(there, FIRST, *remarks(30))
    mirror.pull()
    others = tuple(Remark(Subject.LIMIT, f"{at} " + "y" * 201) for at in range(count))
    written(there, FIRST, *others)
    mirror.pull()
    assert events(mirror, FIRST) == others


def test_another_process_goes_on_with_a_copy(mirror: Mirror, there: Path) -> None:
    written(there, FIRST, *remarks(2))
    mirror.pull()
    copy = record_path(mirror.root, FIRST)
    before = copy.stat()
    again = Mirror(mirror.url, mirror.root.parent)
    again.pull()
    assert copy.stat() == before
    written(there, FIRST, *remarks(3))
    again.pull()
    assert events(mirror, FIRST) == remarks(3)


def test_an_event_that_lies_beside_a_record_is_copied_unless_it_is_damaged(
    mirror: Mirror, there: Path
) -> None:
    long = Remark(Subject.BREAK, "x" * 20_000)
    put_in_blob(there, FIRST, long)
    damaged = put_in_blob(there, SECOND, Remark(Subject.BREAK, "y" * 20_000))
    damaged.write_bytes(damaged.read_bytes().replace(b"y", b"z"))
    (damaged.parent / ("0" * 32)).write_bytes(b"nobody names it")
    mirror.pull()
    assert events(mirror, FIRST) == (long,)
    assert Runs(mirror.root, print).read(SECOND).left_out == 1
    assert len(names_below(mirror.root / FOLDER / BLOBS)) == 1


def test_what_the_other_end_has_no_more_is_deleted(mirror: Mirror, there: Path) -> None:
    blob = put_in_blob(there, FIRST, Remark(Subject.BREAK, "x" * 20_000))
    written(there, SECOND, End())
    mirror.pull()
    copy = mirror.root / FOLDER / BLOBS / blob.name
    os.utime(copy, (0, 0))
    record_path(there, FIRST).unlink()
    mirror.pull()
    assert run_ids(mirror.root) == (SECOND,)
    assert not copy.exists()


def test_the_newest_are_copied_as_many_as_fit(
    mirror: Mirror, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(there, FIRST, *remarks(10))
    written(there, SECOND, *remarks(10))
    size = record_path(there, FIRST).stat().st_size
    monkeypatch.setattr("fxls.store.run_copies.MOST_BYTES", 2 * size)
    mirror.pull()
    assert run_ids(mirror.root) == (SECOND, FIRST)
    written(there, THIRD, End())
    mirror.pull()
    assert run_ids(mirror.root) == (THIRD, SECOND)


def test_names_and_files_that_no_store_of_fxls_has_are_left_alone(
    mirror: Mirror, there: Path, tmp_path: Path
) -> None:
    runs = there / FOLDER
    written(there, FIRST, Compilation("0/0", "f", Outcome.OK))
    secret = tmp_path / "secret"
    secret.write_bytes(record_path(there, FIRST).read_bytes())

    def name(start: str) -> str:
        return record_path(there, f"{start}-host-7-0123abcd").name

    (runs / name("20260103T000000Z")).symlink_to(secret)
    (runs / name("20260104T000000Z")).symlink_to("/dev/zero")
    os.mkfifo(runs / name("20260105T000000Z"))
    (runs / name("20260106T000000Z")).mkdir()
    (runs / name("20260107T000000Z")).write_bytes(b"no line")
    with (runs / name("20260108T000000Z")).open("wb") as file:
        file.truncate(9 << 30)
    for other in ("evil.jsonl", "a\nb.jsonl", f"{FIRST}.jsonl.exe", "-rf.json"):
        (runs / other).write_bytes(secret.read_bytes())
    (runs / f"{FIRST}.json").symlink_to("/dev/zero")
    (runs / BLOBS).symlink_to(tmp_path)
    mirror.pull()
    assert names_below(mirror.root) == [f"{FOLDER}/{FIRST}.jsonl"]
    assert events(mirror, FIRST) == (Compilation("0/0", "f", Outcome.OK),)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, as pytest's own may not be."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.skipif(os.name == "nt", reason="nobody else has files of one's own there")
@pytest.mark.parametrize("kept", [1, 40])
def test_a_record_that_others_keep_to_themselves_is_left_out(
    kept: int, open_folder: Path
) -> None:
    there = open_folder / "there" / ".fxls"
    written(there, FIRST, End())
    written(there, SECOND, *remarks(kept * 100))
    record_path(there, SECOND).chmod(0)
    mirror = Mirror(f"file://{there}", open_folder / "copies")
    with as_anybody():
        mirror.pull()
        mirror.pull()
    assert run_ids(mirror.root) == (FIRST,)
