"""The runs of a store, as a reader finds them: live, ended, killed, half and hostile."""

import os
from pathlib import Path

import pytest
from msgspec import structs

from fxls import machine, record
from fxls.record import (
    Cause,
    Compilation,
    Counts,
    End,
    Entry,
    Event,
    InBlob,
    Outcome,
    Pass,
    Remark,
    Run,
    Subject,
    Truncated,
    run_summary,
)
from fxls.record.run_summary import State, Tally
from fxls.store import StoreError, files
from fxls.store.runs import (
    RecordBookmark,
    Runs,
    blob_name,
    record_path,
    summary_path,
)

ID = "20260102T030405Z-host-7-0123abcd"
GONE = 2**22 + 1
"""No process has this number: Linux gives none above."""


def run(name: str = ID, pid: int = GONE, **more: object) -> Run:
    fields: dict[str, object] = {"boot": machine.boot(), "host": machine.host(), **more}
    return Run(1, name, name, pid, 1.0, **fields)  # pyright: ignore[reportArgumentType]  # of any field


def lines(*events: Event) -> bytes:
    entries = (Entry(at, 1, 1.0 + at, 2.0 + at, one) for at, one in enumerate(events))
    return b"".join(record.encode(entry) + b"\n" for entry in entries)


def write(root: Path, content: bytes, name: str = ID) -> Path:
    path = record_path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


class Reading:
    def __init__(self, root: Path) -> None:
        self.said: list[StoreError] = []
        self.runs = Runs(root, self.said.append)

    def states(self) -> dict[str, State]:
        return {one.run.id: one.state for one in self.runs.newest()}


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path)


FIRST = Compilation("0/0", "f", Outcome.OK, seconds=1.5)
SECOND = Compilation("0/1", "f", Outcome.LIMIT, Cause.RECOMPILATION, seconds=0.5)


def test_a_record_is_read_as_it_was_written(tmp_path: Path, reading: Reading) -> None:
    write(tmp_path, lines(run(), FIRST, SECOND, End()))

    part = reading.runs.read(ID)

    assert part.run == run()
    assert [one.event for one in part.entries] == [FIRST, SECOND, End()]
    assert (part.begins, part.left_out) == (True, 0)
    assert part.bookmark.offset == record_path(tmp_path, ID).stat().st_size


def test_half_a_line_is_no_event_until_it_is_whole(
    tmp_path: Path, reading: Reading
) -> None:
    whole = lines(run(), FIRST, SECOND)
    cut = whole.index(b'"0/1"')
    path = write(tmp_path, whole[:cut])
    before = reading.runs.read(ID)
    path.write_bytes(whole)
    after = reading.runs.read(ID, before.bookmark)

    assert [one.event for one in before.entries] == [FIRST]
    assert [one.event for one in after.entries] == [SECOND]
    assert (before.begins, after.begins) == (True, False)


def test_a_record_that_became_shorter_is_read_from_its_beginning(
    tmp_path: Path, reading: Reading
) -> None:
    path = write(tmp_path, lines(run(), FIRST, SECOND))
    bookmark = reading.runs.read(ID).bookmark
    path.write_bytes(lines(run(), SECOND))

    part = reading.runs.read(ID, bookmark)

    assert [one.event for one in part.entries] == [SECOND]
    assert part.begins


def test_a_bookmark_of_another_run_counts_for_nothing(
    tmp_path: Path, reading: Reading
) -> None:
    write(tmp_path, lines(run(), FIRST))
    part = reading.runs.read(ID, RecordBookmark("another", 10_000))
    assert [one.event for one in part.entries] == [FIRST]


def test_a_list_says_where_each_run_is(tmp_path: Path, reading: Reading) -> None:
    wanted: dict[str, State] = {}
    rows: list[tuple[int, dict[str, str], tuple[Event, ...], State]] = [
        (GONE, {}, (End(),), State.ENDED),
        (GONE, {}, (End("KeyError: 1"),), State.RAISED),
        (GONE, {}, (), State.KILLED),
        (os.getpid(), {}, (), State.RUNNING),
        (os.getpid(), {"boot": "another"}, (), State.KILLED),
        (GONE, {"host": "elsewhere"}, (), State.UNKNOWN),
    ]
    for at, (pid, more, events, state) in enumerate(rows):
        name = f"20260102T03040{at}Z-host-7-0123abcd"
        write(tmp_path, lines(run(name, pid, **more), *events), name)
        wanted[name] = state

    assert reading.states() == wanted
    assert list(reading.states()) == sorted(wanted, reverse=True)


EVENTS = (
    FIRST,
    SECOND,
    Compilation("1/0", "g", Outcome.RUNNING),
    Compilation("2/0", "h", Outcome.SKIPPED),
    Compilation("3/0", "h", Outcome.ERROR),
    Remark(Subject.BREAK, "print"),
    Pass("one"),
    Pass("two", changed=True),
    Truncated(9),
    Counts({"pass": 8}, 6),
    End("KeyError: 1"),
)


def test_a_summary_counts_a_record_and_a_list_reads_no_record_then(
    tmp_path: Path, reading: Reading
) -> None:
    path = write(tmp_path, lines(run(), *EVENTS))
    counted = reading.runs.newest()[0].summary
    summary_path(tmp_path, ID).write_bytes(run_summary.encode(counted))
    # Of the same size, and no record any more.
    path.write_bytes(b"x" * path.stat().st_size)
    again = reading.runs.newest()[0].summary

    assert again == counted
    assert counted == run_summary.Summary(
        run=run(),
        size=path.stat().st_size,
        compilations=5,
        recompilations=1,
        breaks=1,
        skipped=1,
        limits=1,
        errors=1,
        running=1,
        passes=2,
        changes=1,
        remarks=1,
        seconds=2.0,
        last=2.0 + len(EVENTS),
        is_truncated=True,
        lost=6,
        end=End("KeyError: 1"),
    )


def test_a_summary_that_is_behind_its_record_is_counted_anew(
    tmp_path: Path, reading: Reading
) -> None:
    write(tmp_path, lines(run(), FIRST, SECOND))
    behind = run_summary.encode(Tally(run()).summary(10))
    summary_path(tmp_path, ID).write_bytes(behind)

    assert reading.runs.newest()[0].summary.compilations == 2


def test_a_long_event_is_read_from_its_blob(tmp_path: Path, reading: Reading) -> None:
    event = Remark(Subject.BREAK, "x" * 20_000)
    content = record.encode(Entry(0, 0, 0.0, 0.0, event))
    name = blob_name(content)
    write(tmp_path, lines(run(), InBlob("remark", name, len(content)), FIRST))
    (tmp_path / "runs" / "blobs").mkdir()
    (tmp_path / "runs" / "blobs" / name).write_bytes(content)

    part = reading.runs.read(ID)

    assert [(one.number, one.event) for one in part.entries] == [(1, event), (2, FIRST)]


@pytest.mark.parametrize("content", [None, b"{}", b"x" * 100, "link", "device"])
def test_a_blob_that_is_not_what_its_name_says_is_left_out(
    content: bytes | str | None, tmp_path: Path, reading: Reading
) -> None:
    name = "0" * 32
    write(tmp_path, lines(run(), InBlob("remark", name, 9), FIRST))
    (tmp_path / "runs" / "blobs").mkdir()
    path = tmp_path / "runs" / "blobs" / name
    match content:
        case "link":
            path.symlink_to("/etc/passwd")
        case "device":
            path.symlink_to("/dev/zero")
        case bytes():
            path.write_bytes(content)
        case _:
            pass

    part = reading.runs.read(ID)

    assert ([one.event for one in part.entries], part.left_out) == ([FIRST], 1)


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "", "0" * 31])
def test_the_name_of_a_blob_leads_nowhere_else(
    name: str, tmp_path: Path, reading: Reading
) -> None:
    write(tmp_path, lines(run(), InBlob("remark", name, 9), FIRST))
    assert reading.runs.read(ID).left_out == 1


def test_lines_that_cannot_be_read_are_left_out_and_counted(
    tmp_path: Path, reading: Reading
) -> None:
    bad = [
        b"\x00\xff" * 40,
        b"[" * 5_000,
        b'{"event":{"kind":"pass","name":3}}',
        lines(Remark(Subject.BREAK, "x" * 17_000)).rstrip(),
        b"{}",
    ]
    later = b'{"number":1,"thread":1,"clock":1.0,"time":1.0,"event":{"kind":"later"}}'
    good = lines(run(), FIRST)
    write(tmp_path, good + b"\n".join([*bad, later, b"", b""]) + lines(SECOND))

    part = reading.runs.read(ID)

    assert [one.event for one in part.entries] == [FIRST, SECOND]
    assert part.left_out == len(bad)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it has no whole line"),
        (b"x" * 100_000, "it has no whole line"),
        (b"\x00\xff\n", "it is no record of a run"),
        (lines(FIRST), "it is no record of a run"),
        (
            lines(run()).replace(b'"schema":1', b'"schema":2'),
            "it has format 2, from a newer fxls",
        ),
        (lines(run("another")), "it is the record of 'another'"),
    ],
)
def test_what_is_no_record_is_reported_and_the_others_are_listed(
    content: bytes, problem: str, tmp_path: Path, reading: Reading
) -> None:
    write(tmp_path, content)
    other = "20270102T030405Z-host-7-0123abcd"
    write(tmp_path, lines(run(other), End()), other)

    assert reading.states() == {other: State.ENDED}
    assert len(reading.said) == 1
    assert reading.said[0].path == record_path(tmp_path, ID)
    assert reading.said[0].problem.startswith(f"is not read: {problem}")


@pytest.mark.parametrize("target", ["/etc/passwd", "/dev/zero", "."])
def test_no_link_is_followed(target: str, tmp_path: Path, reading: Reading) -> None:
    path = record_path(tmp_path, ID)
    path.parent.mkdir()
    path.symlink_to(target)

    assert reading.states() == {}
    assert [one.path for one in reading.said] == [path]
    with pytest.raises(StoreError, match="symbolic link"):
        reading.runs.read(ID)


def test_names_that_are_no_run_are_not_listed(tmp_path: Path, reading: Reading) -> None:
    for name in ("x", "20260102T030405Z-h o-7-0123abcd", "..", "a" * 200):
        write(tmp_path, lines(run(), End()), name)
    assert reading.states() == {}


def test_a_hostile_summary_is_reported(tmp_path: Path, reading: Reading) -> None:
    write(tmp_path, lines(run(), FIRST))
    summary_path(tmp_path, ID).write_bytes(b'{"run":[]}')
    assert reading.states() == {}
    assert reading.said[0].path == summary_path(tmp_path, ID)


def test_reading_one_of_256_runs_reads_what_reading_it_alone_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    original = files.read_from

    def counting(root: Path, path: Path, *rest: int) -> tuple[int, bytes]:
        read.append(path)
        return original(root, path, *rest)

    monkeypatch.setattr(files, "read_from", counting)

    def reads(root: Path) -> list[str]:
        read.clear()
        reading = Reading(root)
        reading.runs.one(ID)
        part = reading.runs.read(ID)
        reading.runs.read(ID, part.bookmark)
        assert reading.runs.sizes()[ID] == record_path(root, ID).stat().st_size
        assert (reading.said, [one.event for one in part.entries]) == ([], [FIRST])
        return [path.name for path in read]

    alone, many = tmp_path / "alone", tmp_path / "many"
    write(alone, lines(run(), FIRST))
    write(many, lines(run(), FIRST))
    for rank in range(1, 256):
        name = f"20260102T030405Z-host-{rank + 7}-0123abcd"
        write(many, lines(run(name, rank=rank), SECOND, End()), name)

    assert reads(many) == reads(alone)
    assert {name.partition(".")[0] for name in reads(many)} == {ID}
    assert len(Reading(many).runs.newest()) == 256


def test_eight_ranks_write_one_store_and_each_is_a_run_of_one_launch(
    tmp_path: Path, reading: Reading
) -> None:
    names = [f"20260102T030405Z-host-{rank + 7}-0123abcd" for rank in range(8)]
    for rank, name in enumerate(names):
        of = run(name, rank=rank, world_size=8)
        write(tmp_path, lines(structs.replace(of, launch=ID), FIRST, End()), name)

    found = reading.runs.newest()

    assert {one.run.rank for one in found} == {*range(8)}
    assert {(one.run.launch, one.state) for one in found} == {(ID, State.ENDED)}


def test_ten_thousand_compilations_are_counted_and_read_within_the_bound(
    tmp_path: Path, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is behind the bound is read when somebody goes on."""
    monkeypatch.setattr("fxls.store.runs.MOST", 1 << 20)
    many = [
        structs.replace(FIRST, id=f"{number}/0", function="f" * 100)
        for number in range(10_000)
    ]
    content = lines(run(), *many)
    assert len(content) > 2 << 20
    write(tmp_path, content)

    part = reading.runs.read(ID)

    assert part.bookmark.offset <= 1 << 20
    assert 0 < len(part.entries) < 10_000
    assert part.left_out == 0
    behind = reading.runs.read(ID, part.bookmark)
    first = behind.entries[0].event
    assert isinstance(first, Compilation)
    assert first.id == f"{len(part.entries)}/0"
