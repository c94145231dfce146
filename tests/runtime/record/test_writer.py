"""The record of a process as it is written: bounds, threads, forks, kills, bad disks."""

from __future__ import annotations

import logging
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent

import pytest

from fxls.listing import Identity
from fxls.record import (
    MOST_IN_LINE,
    Compilation,
    Counts,
    End,
    Event,
    Made,
    Outcome,
    Pass,
    Remark,
    RevisionName,
    Run,
    Subject,
    Truncated,
)
from fxls.record.run_summary import State
from fxls.runtime.record.recorder import Recorder, stamped
from fxls.runtime.record.run_head import ThisRun
from fxls.runtime.record.writer import RecordWriter
from fxls.said_once import SaidOnce
from fxls.store.runs import (
    RecordPart,
    Runs,
    record_path,
    run_ids,
    summary_path,
)


class Recording:
    def __init__(self, root: Path, most: int = 1 << 20) -> None:
        self.root = root
        self.run = ThisRun()
        self.writer = RecordWriter(root, lambda: self.run.head("p.py"), most)
        self.recorder = Recorder(self.writer)

    def read(self) -> RecordPart:
        return runs(self.root).read(self.run.id)

    def events(self) -> list[Event]:
        return [one.event for one in self.read().entries]


def runs(root: Path) -> Runs:
    return Runs(root, lambda trouble: pytest.fail(str(trouble)))


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path / ".fxls")


def test_without_an_event_there_is_no_file(recording: Recording) -> None:
    recording.recorder.finish()
    assert not recording.root.exists()


def test_events_are_written_in_their_order_behind_the_run(recording: Recording) -> None:
    for at in range(100):
        recording.recorder.note(Pass("p", at))
    recording.recorder.finish()
    part = recording.read()

    assert (part.run.id, part.run.pid, part.run.program) == (
        *(recording.run.id, os.getpid()),
        "p.py",
    )
    assert part.run.versions.keys() == {"fxls", "python", "torch"}
    assert [one.event for one in part.entries] == [
        *(Pass("p", at) for at in range(100)),
        End(),
    ]
    assert [one.number for one in part.entries] == [*range(1, 102)]
    assert {one.thread for one in part.entries} == {threading.get_ident()}


def test_a_run_is_cut_into_two_records(recording: Recording) -> None:
    first, launch = recording.run.id, recording.run.launch
    for at in range(100):
        recording.recorder.note(Pass("p", at))
    recording.recorder.cut(recording.run.cut)
    recording.recorder.note(Pass("q", 0))
    recording.recorder.finish()

    before = runs(recording.root).read(first)
    assert [one.event for one in before.entries] == [
        *(Pass("p", at) for at in range(100)),
        End(),
    ]
    assert recording.events() == [Pass("q", 0), End()]
    after = recording.read()
    assert (before.run.launch, after.run.launch) == (launch, recording.run.id)
    assert before.run.start <= after.run.start
    listed = {one.run.id: one.state for one in runs(recording.root).newest()}
    assert listed == {first: State.ENDED, recording.run.id: State.ENDED}
    assert not _writers()


def test_a_process_that_belongs_to_a_launch_stays_in_it_when_its_run_is_cut() -> None:
    run = ThisRun("launch", "parent")
    before = run.id
    run.cut()
    assert (run.launch, run.head(None).parent) == ("launch", "parent")
    assert run.id != before


def test_the_thread_ends_when_nothing_comes_and_another_writes_what_comes_then(
    recording: Recording,
) -> None:
    for at in range(3):
        recording.recorder.note(Pass("p", at))
        (thread,) = _writers()
        thread.join(60)
        assert not thread.is_alive()
        listed = runs(recording.root).one(recording.run.id)
        assert listed.summary.passes == at + 1
    recording.recorder.finish()

    assert recording.events() == [*(Pass("p", at) for at in range(3)), End()]


def test_the_end_of_a_run_is_the_end_of_its_thread(tmp_path: Path) -> None:
    for at in range(100):
        recording = Recording(tmp_path / str(at))
        recording.recorder.note(Pass("p"))
        recording.recorder.finish()
        assert _writers() == []


def test_a_program_that_only_makes_listings_has_no_thread(recording: Recording) -> None:
    identity = Identity("m", "C")
    recording.recorder.note(Made(RevisionName(identity, "C_1.py")))
    assert _writers() == []
    recording.recorder.finish()
    assert not recording.root.exists()


def _writers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "fxls record"]


def test_others_may_read_neither_record_nor_summary_nor_blob(
    recording: Recording,
) -> None:
    recording.recorder.note(Remark(Subject.BREAK, "x" * 20_000))
    recording.recorder.finish()
    (blob,) = (recording.root / "runs" / "blobs").iterdir()
    for path in (
        record_path(recording.root, recording.run.id),
        summary_path(recording.root, recording.run.id),
        blob,
    ):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_long_event_lies_in_a_blob_and_no_line_is_long(recording: Recording) -> None:
    event = Remark(Subject.BREAK, "é" * 20_000)
    for one in (event, Pass("short"), event):
        recording.recorder.note(one)
    recording.recorder.finish()

    lines = record_path(recording.root, recording.run.id).read_bytes().split(b"\n")
    assert max(map(len, lines)) < MOST_IN_LINE
    assert len([*(recording.root / "runs" / "blobs").iterdir()]) == 1
    assert recording.events() == [event, Pass("short"), event, End()]


def test_events_of_many_threads_are_whole(recording: Recording) -> None:
    def note(name: str) -> None:
        for at in range(200):
            recording.recorder.note(Pass(name, at))

    threads = [threading.Thread(target=note, args=(str(at),)) for at in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    recording.recorder.finish()

    found = [one for one in recording.events() if isinstance(one, Pass)]
    for name in map(str, range(8)):
        assert [one.ordinal for one in found if one.name == name] == [*range(200)]


def test_at_the_bound_it_says_so_counts_on_and_ends(tmp_path: Path) -> None:
    recording = Recording(tmp_path / ".fxls", most=100_000)
    for at in range(1_000):
        recording.recorder.note(Pass("x" * 50, at, changed=True))
    recording.recorder.finish()

    *passes, truncated, counts, end = recording.events()
    size = record_path(recording.root, recording.run.id).stat().st_size
    assert size < 100_000
    assert all(isinstance(one, Pass) for one in passes)
    assert 50 < len(passes) < 1_000
    assert truncated == Truncated(100_000)
    assert counts == Counts({"pass": 1_000}, 1_000 - len(passes))
    assert end == End()
    summary = runs(recording.root).newest()[0].summary
    assert (summary.passes, summary.changes) == (1_000, 1_000)
    assert (summary.is_truncated, summary.lost) == (True, 1_000 - len(passes))


def test_blobs_count_to_the_bound(tmp_path: Path) -> None:
    recording = Recording(tmp_path / ".fxls", most=200_000)
    for at in range(40):
        recording.recorder.note(Remark(Subject.BREAK, f"{at}" + "x" * 20_000))
    recording.recorder.finish()

    blobs = [*(recording.root / "runs" / "blobs").iterdir()]
    assert sum(path.stat().st_size for path in blobs) < 200_000
    assert Truncated(200_000) in recording.events()


def test_a_summary_counts_what_the_record_says(recording: Recording) -> None:
    recording.recorder.note(Compilation("0/0", "f", Outcome.RUNNING))
    recording.recorder.note(Compilation("0/0", "f", Outcome.OK, seconds=2.0))
    recording.recorder.finish("KeyError: 1")

    (found,) = runs(recording.root).newest()
    assert found.state is State.RAISED
    assert (found.summary.compilations, found.summary.running) == (1, 0)
    assert found.summary.seconds == 2.0
    path = record_path(recording.root, recording.run.id)
    assert found.summary.size == path.stat().st_size


@pytest.mark.parametrize("trouble", ["file", "link", "taken"])
def test_where_it_cannot_be_written_that_is_said_once_and_the_program_goes_on(
    trouble: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fxls.runtime.faults._said", SaidOnce())
    recording = Recording(tmp_path / ".fxls")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    recording.root.mkdir()
    match trouble:
        case "file":
            (recording.root / "runs").write_text("")
        case "link":
            (recording.root / "runs").symlink_to(elsewhere)
        case _:
            path = record_path(recording.root, recording.run.id)
            path.parent.mkdir()
            path.symlink_to(elsewhere / "taken")
    with caplog.at_level(logging.WARNING, "fxls"):
        for _ in range(3):
            recording.recorder.note(Pass("p"))
            recording.recorder.flush()
        recording.recorder.finish()

    assert [*elsewhere.iterdir()] == []
    said = [one.getMessage() for one in caplog.records if one.name == "fxls"]
    assert len(said) == 1
    assert said[0].startswith("the record of this run is not whole: ")


def test_after_its_end_it_takes_nothing(recording: Recording) -> None:
    recording.recorder.note(Pass("one"))
    recording.recorder.finish()
    recording.recorder.note(Pass("two"))
    recording.recorder.finish()
    recording.recorder.flush()
    assert recording.events() == [Pass("one"), End()]


def test_a_run_that_never_had_an_event_has_a_name_that_none_other_has() -> None:
    assert len({ThisRun().id for _ in range(100)}) == 100
    assert ThisRun("launch", "parent").launch == "launch"


def test_noting_costs_no_wait_while_the_disk_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path / ".fxls", most=1 << 24)
    go = threading.Event()
    head = recording.run.head

    def slowly(program: str | None) -> Run:
        assert go.wait(60)
        return head(program)

    monkeypatch.setattr(recording.run, "head", slowly)
    for _ in range(12_000):  # none of these waits, or the test would not end
        recording.writer.put(stamped(Pass("p")))
    go.set()
    recording.recorder.finish()

    counts = recording.events()[-2]
    assert isinstance(counts, Counts)
    assert counts.counts["pass"] + counts.lost == 12_000
    assert counts.lost >= 1_000


CHILDREN = """\
    import os, sys
    from pathlib import Path
    from fxls.record import Pass
    from fxls.runtime.record.recorder import Recorder
    from fxls.runtime.record.run_head import ThisRun
    from fxls.runtime.record.writer import RecordWriter

    def main():
        run = ThisRun()
        recorder = Recorder(RecordWriter(Path(sys.argv[1]), lambda: run.head("p.py")))
        recorder.note(Pass("parent"))
        recorder.flush()
        if sys.argv[2] == "fork":
            child = os.fork()
            if child == 0:
                recorder.note(Pass("child"))
                recorder.finish()
                os._exit(0)
            os.waitpid(child, 0)
        elif sys.argv[2] == "multiprocessing":
            import multiprocessing
            process = multiprocessing.get_context("fork").Process(
                target=recorder.note, args=(Pass("child"),)
            )
            process.start()
            process.join()
        elif sys.argv[2] == "silent":
            if (child := os.fork()) == 0:
                os._exit(0)
            os.waitpid(child, 0)
        recorder.note(Pass("parent again"))
        recorder.finish()

    main()
    """


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fork", "multiprocessing", "silent"])
def test_a_process_that_was_forked_has_a_record_of_its_own(
    way: str, tmp_path: Path
) -> None:
    program([dedent(CHILDREN), str(tmp_path), way])
    found = {part.run.id: part for part in map(runs(tmp_path).read, run_ids(tmp_path))}
    parent = next(one for one in found.values() if one.run.parent is None)
    children = [one for one in found.values() if one is not parent]

    wanted = [Pass("parent"), Pass("parent again"), End()]
    assert [one.event for one in parent.entries] == wanted
    assert [[e.event for e in one.entries] for one in children] == (
        [] if way == "silent" else [[Pass("child"), End()]]
    )
    for child in children:
        assert child.run.parent == parent.run.id
        assert child.run.launch == parent.run.launch
        assert child.run.pid != parent.run.pid


def program(arguments: list[str]) -> None:
    subprocess.run([sys.executable, "-c", *arguments], check=True, timeout=300)


KILLED = """\
    import os, signal, sys, torch
    import fxls
    from fxls.runtime import installing

    fxls.install(sys.argv[1])

    def backend(gm, _):
        installing.current().recorder.flush()
        if sys.argv[2] == "while":
            os.kill(os.getpid(), signal.SIGKILL)
        return gm.forward

    @torch.compile(backend=backend)
    def f(x):
        return x + 1

    f(torch.ones(2))
    if sys.argv[2] == "raises":
        raise KeyError("oh")
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    installing.current().recorder.flush()
    if sys.argv[2] == "behind":
        os.kill(os.getpid(), signal.SIGKILL)
    """

ENDS = {
    "while": (-signal.SIGKILL, State.KILLED, Outcome.RUNNING),
    "behind": (-signal.SIGKILL, State.KILLED, Outcome.OK),
    "raises": (1, State.RAISED, Outcome.OK),
    "ends": (0, State.ENDED, Outcome.OK),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ENDS)
def test_a_record_is_readable_however_the_program_ends(
    how: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for name in ("FXLS_RECORD", "FXLS_LAUNCH", "FXLS_RUN"):
        environment.pop(name, None)
    ended = subprocess.run(
        [sys.executable, "-c", dedent(KILLED), str(tmp_path), how],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=300,
        check=False,
    )
    code, state, outcome = ENDS[how]

    assert ended.returncode == code, ended.stderr
    (found,) = runs(tmp_path).newest()
    assert found.state is state
    assert found.summary.compilations == 1
    entries = runs(tmp_path).read(found.run.id).entries
    last = [one.event for one in entries if isinstance(one.event, Compilation)][-1]
    assert (last.id, last.function, last.outcome) == ("0/0", "f", outcome)
    if how == "raises":
        assert entries[-1].event == End("KeyError: 'oh'")


@pytest.mark.slow
def test_two_processes_on_a_store_do_not_meet(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", dedent(CHILDREN), str(tmp_path), "none"],
            env=environment,
        )
        for _ in range(2)
    ]
    for one in both:
        assert one.wait(300) == 0
    parts = [runs(tmp_path).read(name) for name in run_ids(tmp_path)]

    assert sorted(part.run.pid for part in parts) == sorted(one.pid for one in both)
    for part in parts:
        assert [one.event for one in part.entries] == [
            *(Pass("parent"), Pass("parent again")),
            End(),
        ]
