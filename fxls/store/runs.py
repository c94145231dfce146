"""The records of runs in a store: `runs/<id>.jsonl`, and a summary beside each.

- A record is only ever added to, by the process that it is about.
- A list reads the summaries, and of a record what its summary does not count yet.
- A record is read in parts: a bookmark says how far somebody came.
- Half a line at the end is no event yet; a line that cannot be read is left out, and
  counted.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
import time
from calendar import timegm
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from fxls import machine, record
from fxls.record import (
    MOST_IN_LINE,
    Compilation,
    Entry,
    Event,
    Guards,
    InBlob,
    Judged,
    QuotedPlace,
    RecordError,
    Remark,
    Run,
    run_summary,
)
from fxls.record.run_summary import State, Summary, Tally, state_of
from fxls.store import files
from fxls.store.errors import StoreError

__all__ = [
    "BLOBS",
    "FOLDER",
    "MOST",
    "MOST_IN_BLOB",
    "MOST_IN_SUMMARY",
    "RecordBookmark",
    "RecordPart",
    "RunInList",
    "Runs",
    "blob_name",
    "is_run_id",
    "newest_ids",
    "record_path",
    "run_ids",
    "started_at",
    "summary_path",
]

FOLDER = "runs"
BLOBS = "blobs"

MOST = 32 << 20
"""So many bytes a record has at most, and so many are read of it."""
MOST_IN_BLOB = 4 << 20
"""So many bytes has an event at most."""
MOST_IN_SUMMARY = 1 << 20
_MOST_RUNS = 1024
"""So many runs are in a list: the newest."""

_APART = 3600
"""Within so many seconds begin the ranks of a launch, those that make graphs at all."""

_JUDGED = b'"judged"'
"""Stands in each line that tells what was judged, as does a line that names its file."""
_RECORD = ".jsonl"
_SUMMARY = ".json"
_ID = re.compile(r"[0-9TZ]{8,20}-[A-Za-z0-9_.]{1,64}-[0-9]{1,20}-[0-9a-f]{8,16}")
_BLOB = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class RunInList:
    """A run, as far as a list says it."""

    summary: Summary
    state: State

    @property
    def run(self) -> Run:
        return self.summary.run


@dataclass(frozen=True, slots=True)
class RecordBookmark:
    """How far somebody came in a record."""

    run: str
    offset: int = 0
    schema: int = record.SCHEMA


@dataclass(frozen=True, slots=True)
class RecordPart:
    """What a record has behind a bookmark."""

    run: Run
    entries: tuple[Entry, ...]
    """Without the run itself."""
    bookmark: RecordBookmark
    """Where to go on."""
    begins: bool
    """Whether it is the record from its beginning, also because it became shorter."""
    left_out: int = 0
    """Lines that cannot be read."""


class Runs:
    """The runs of one store."""

    def __init__(
        self,
        root: Path,
        report: Callable[[StoreError], None],
        here: Callable[[str], str] | None = None,
    ) -> None:
        """`here` is for the copy of a store: it gives the path on this machine of a file
        of the other, for places in sources.
        """
        self._root = root
        self._report = report
        self._here = here

    def newest(self) -> tuple[RunInList, ...]:
        """The runs that there are, the newest first; what cannot be read is reported."""
        found: list[RunInList] = []
        for name in run_ids(self._root):
            try:
                found.append(self.one(name))
            except StoreError as error:
                self._report(error)
        return tuple(found)

    def ids(self) -> tuple[str, ...]:
        """The ids of the runs that there are, as `run_ids` gives them."""
        return run_ids(self._root)

    def find(self, words: str) -> tuple[str, ...]:
        """The ids of the runs that a word may mean: an id, a part of one, or -1 for the
        newest.
        """
        ids = run_ids(self._root)
        if re.fullmatch(r"-[1-9]\d{0,4}", words):
            place = int(words[1:]) - 1
            return ids[place : place + 1]
        return (words,) if words in ids else tuple(one for one in ids if words in one)

    def newest_launch(self) -> tuple[str, ...]:
        """The ids of the runs of the program that began last, the oldest first.

        Raises `StoreError`.
        """
        ids = run_ids(self._root)
        return self.launch_of(ids[0]) if ids else ()

    def launch_of(self, run: str) -> tuple[str, ...]:
        """The ids of the runs of the launch of a run, the oldest first.

        Raises `StoreError`; another run that cannot be read is reported.
        """
        launch = self._head(record_path(self._root, run)).launch
        # A launch is named after one of its first runs, or by the launcher of ranks.
        is_of_program = is_run_id(launch)
        first = started_at(launch if is_of_program else run) - _APART
        last = math.inf if is_of_program else started_at(run) + _APART
        found: list[str] = []
        for name in run_ids(self._root):
            started = started_at(name)
            if started < first:
                break
            if started <= last and (name == run or self._is_of(name, launch)):
                found.append(name)
        return tuple(reversed(found))

    def _is_of(self, run: str, launch: str) -> bool:
        try:
            return self._head(record_path(self._root, run)).launch == launch
        except StoreError as error:
            self._report(error)
            return False

    def sizes(self) -> Mapping[str, int]:
        """How long the record of each run is, which grows with what it says.

        Costs one stat for each run, and reads nothing.
        """
        try:
            ids = run_ids(self._root)
        except StoreError as error:
            self._report(error)
            return {}
        found = ((run, files.sign(record_path(self._root, run))) for run in ids)
        return {run: there.size for run, there in found if there is not None}

    def one(self, run: str) -> RunInList:
        """One run, as far as a list says it; raises `StoreError`."""
        summary = self._summary(run)
        of = summary.run
        state = state_of(
            of,
            summary.end,
            is_here=of.host == machine.host(),
            is_booted=not of.boot or of.boot == machine.boot(),
            is_alive=machine.is_alive(of.pid),
        )
        return RunInList(summary, state)

    def read(self, run: str, since: RecordBookmark | None = None) -> RecordPart:
        """What the record of a run has behind a bookmark, or all of it.

        Raises `StoreError`.
        """
        path = record_path(self._root, run)
        head = self._head(path)
        start = 0
        if since is not None and since.run == run:
            start = since.offset
        size, data = files.read_from(self._root, path, start, MOST)
        if start > size:
            start = 0
            size, data = files.read_from(self._root, path, 0, MOST)
        whole = data.rfind(b"\n") + 1
        entries: list[Entry] = []
        left_out = 0
        # Asked once for each file, because it looks for files.
        here = None if self._here is None else functools.cache(self._here)
        for line in _lines(data[:whole]):
            entry, is_damaged = self._entry(line)
            left_out += is_damaged
            if entry is not None and not isinstance(entry.event, Run):
                entries.append(entry if here is None else _placed_here(entry, here))
        return RecordPart(
            head,
            tuple(entries),
            RecordBookmark(run, start + whole),
            begins=start == 0,
            left_out=left_out,
        )

    def judged(self, run: str) -> Iterator[Judged]:
        """How far values are off, as the record of a run has it; most of its lines are
        passed over, and not decoded. Raises `StoreError`.
        """
        _, data = files.read_from(self._root, record_path(self._root, run), 0, MOST)
        for line in _lines(data[: data.rfind(b"\n") + 1]):
            entry = self._entry(line)[0] if _JUDGED in line else None
            if entry is not None and isinstance(entry.event, Judged):
                yield entry.event

    def _head(self, path: Path) -> Run:
        _, data = files.read_from(self._root, path, 0, MOST_IN_LINE + 1)
        line, end, _ = data.partition(b"\n")
        try:
            if not end:
                raise RecordError("it has no whole line")
            return record.decode_run(line)
        except RecordError as error:
            raise _damaged(path, error) from error

    def _entry(self, line: bytes) -> tuple[Entry | None, bool]:
        """The event of a line, if it has one; and whether it is damaged."""
        if len(line) > MOST_IN_LINE:
            return None, True
        try:
            entry = record.decode(line)
            if entry is None or not isinstance(entry.event, InBlob):
                return entry, False
            name = entry.event.name
            if not _BLOB.fullmatch(name):
                return None, True
            path = self._root / FOLDER / BLOBS / name
            size, content = files.read_from(self._root, path, 0, MOST_IN_BLOB)
            if size > MOST_IN_BLOB or blob_name(content) != name:
                return None, True
            found = record.decode(content)
            if found is None:
                return None, False
            return replace(entry, event=found.event), False
        except (RecordError, StoreError):
            return None, True

    def _summary(self, run: str) -> Summary:
        path = record_path(self._root, run)
        signature = files.sign(path)
        if signature is None:
            raise StoreError(path, "is gone", "Run the program again.")
        beside = summary_path(self._root, run)
        _, content = files.read_from(self._root, beside, 0, MOST_IN_SUMMARY)
        try:
            found = run_summary.decode(content) if content else None
        except RecordError as error:
            raise _damaged(beside, error) from error
        if found is not None and found.run.id == run and found.size == signature.size:
            return found
        # A kill came between the two, or they are being written.
        part = self.read(run)
        tally = Tally(part.run)
        for entry in part.entries:
            tally.count(entry)
        counted = tally.summary(part.bookmark.offset)
        if counted.run.id != run:
            problem = RecordError(f"it is the record of {counted.run.id!r}")
            raise _damaged(path, problem)
        return counted


def record_path(root: Path, run: str) -> Path:
    """The file of a record."""
    return root / FOLDER / f"{run}{_RECORD}"


def summary_path(root: Path, run: str) -> Path:
    """The file of a summary."""
    return root / FOLDER / f"{run}{_SUMMARY}"


def blob_name(content: bytes) -> str:
    """The name of the file of an event that is too long for a line."""
    return hashlib.sha256(content).hexdigest()[:32]


def is_run_id(name: str) -> bool:
    """Whether a run may have this name; no other is looked for in a folder."""
    return _ID.fullmatch(name) is not None


def started_at(run: str) -> float:
    """When a run began, in seconds since 1970, by its id; 0 where that is no time."""
    try:
        return timegm(time.strptime(run.partition("-")[0], "%Y%m%dT%H%M%SZ"))
    except ValueError:
        return 0.0


def run_ids(root: Path) -> tuple[str, ...]:
    """The ids of the runs that there are, as many as are listed; the newest first.

    Raises `Unreadable`.
    """
    return newest_ids(files.names_in(root, root / FOLDER))


def newest_ids(names: Iterable[str]) -> tuple[str, ...]:
    """The ids of the runs whose records have these names, as `run_ids` gives them."""
    ids = [name.removesuffix(_RECORD) for name in names if name.endswith(_RECORD)]
    return tuple(sorted(filter(_ID.fullmatch, ids), reverse=True)[:_MOST_RUNS])


def _placed_here(entry: Entry, here: Callable[[str], str]) -> Entry:
    """An event whose places in the program have the paths of this machine."""

    def moved(one: QuotedPlace | None) -> QuotedPlace | None:
        if one is None:
            return None
        place = replace(one.place, path=here(one.place.path))
        return replace(one, place=place)

    event: Event = entry.event
    match event:
        case Compilation():
            event = replace(event, place=moved(event.place))
        case Remark():
            places = tuple(filter(None, map(moved, event.places)))
            others = tuple(filter(None, map(moved, event.others)))
            callers = tuple(filter(None, map(moved, event.callers)))
            event = replace(event, places=places, others=others, callers=callers)
        case Guards():
            first, unbacked = (
                tuple(replace(one, place=moved(one.place)) for one in each)
                for each in (event.first, event.unbacked)
            )
            function = moved(event.function)
            event = replace(event, first=first, unbacked=unbacked, function=function)
        case _:
            return entry
    return replace(entry, event=event)


def _lines(data: bytes) -> Iterator[bytes]:
    return (line for line in data.split(b"\n") if line)


def _damaged(path: Path, error: RecordError) -> StoreError:
    return StoreError(
        path, f"is not read: {error}", "Delete it, or use the newest fxls."
    )
