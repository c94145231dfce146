"""Logs that ``TORCH_TRACE`` made become records and listings of a store.

A log comes from another machine, may be torn, and may be anybody's: it is read up to a
bound, no file that it names is opened, and what it says is taken only where a record may
say it.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from fxls import record, regular_file
from fxls.listing import KERNELS, Identity, Listing
from fxls.listing.sidecar import encode
from fxls.record import (
    MOST_IN_LINE,
    SCHEMA,
    Entry,
    Event,
    InBlob,
    Made,
    RecordError,
    RevisionName,
    Run,
    Truncated,
    kind_of,
    run_summary,
)
from fxls.record.logged_code import logged_code
from fxls.record.printed_graph import printed_graph
from fxls.record.quoted_place import of_program
from fxls.record.run_summary import Summary, Tally
from fxls.record.structured_trace import Trace, id_of
from fxls.record.torch_trace import TraceEntry, entries_in, is_trace
from fxls.store import Store, StoreError, files
from fxls.store.names import digest_of
from fxls.store.runs import (
    BLOBS,
    FOLDER,
    MOST,
    MOST_IN_BLOB,
    blob_name,
    record_path,
    summary_path,
)

__all__ = ["MOST_OF_LOG", "PRODUCER", "ImportedRun", "logs_in", "read_log", "write_run"]

PRODUCER = "TORCH_TRACE"
"""Who made the graphs of a log: they are no revisions of what a run here makes."""

MOST_OF_LOG = 512 << 20
"""So many bytes are read of a log."""
_MOST_LOGS = 10_000
_MOST_GRAPHS = 5_000
_ROOM = 64 << 10
_START = 8 << 10
_RANK = re.compile(r"_rank_(\d{1,9})_")

_STAGES: dict[str, tuple[str, ...]] = {
    "dynamo_output_graph": (),
    "after_pre_grad_graph": ("pre-grad",),
    "aot_joint_graph": ("joint",),
    "after_joint_graph": ("joint",),
    "aot_forward_graph": ("forward",),
    "aot_inference_graph": ("forward",),
    "aot_backward_graph": ("backward",),
    "inductor_post_grad_graph": ("post-grad",),
    "inductor_output_code": (KERNELS,),
}
"""What a graph of a log is called, by the word that torch has for it."""


@dataclass(slots=True)
class ImportedRun:
    """What a log says."""

    run: Run
    lines: list[bytes]
    """Of the record, without their ends."""
    blobs: dict[str, bytes]
    summary: Summary
    listings: list[Listing]
    unread: int
    """Entries, and texts of entries, that cannot be read."""
    left_out: int
    """Bytes of the log that are not read, as there are too many."""


def logs_in(folder: Path) -> Iterator[Path]:
    """The logs in a folder, by name; or the file itself. Raises `OSError`."""
    if not folder.is_dir():
        yield folder
        return
    for path in sorted(islice(folder.iterdir(), _MOST_LOGS)):
        try:
            _, start = regular_file.read_from(path, 0, _START)
        except OSError:  # a link, a folder, or what may not be read
            continue
        if is_trace(start):
            yield path


def read_log(path: Path, launch: str | None = None) -> ImportedRun | None:
    """What a log says; None for what is no log. Raises `OSError`.

    `launch` is the run that one with a rank belongs to, if it does.
    """
    size, data = regular_file.read_from(path, 0, MOST_OF_LOG)
    if not is_trace(data):
        return None
    reader = _Reader(path.name, data, launch)
    reader.read()
    return reader.imported(max(0, size - len(data)))


def write_run(store: Store, found: ImportedRun) -> bool:
    """Write a run and its listings, unless they are there; returns whether they were not.

    What a whole log said stays when a part of the log comes later. Raises `StoreError`.
    """
    path = record_path(store.root, found.run.id)
    content = b"".join(line + b"\n" for line in found.lines)
    paths = [store.path_of(one.identity.class_name, one.text) for one in found.listings]
    try:
        known = files.read(store.root, path) or b""
    except StoreError:
        known = b""
    if _is_part(found.lines, known.splitlines()):
        return False
    if known == content and all(map(files.is_there, paths)):
        return False
    store.ignore()
    for one in found.listings:
        store.materialize(one)
    for name, blob in found.blobs.items():
        beside = store.root / FOLDER / BLOBS / name
        files.write(store.root, beside, blob, is_private=True)
    files.write(store.root, path, content, is_private=True)
    summary = run_summary.encode(found.summary)
    files.write(
        store.root, summary_path(store.root, found.run.id), summary, is_private=True
    )
    return True


def _is_part(lines: Sequence[bytes], known: Sequence[bytes]) -> bool:
    """Whether a record is what another one begins with.

    The first line says what the run is as far as that is known, and the last one may be
    of an entry that was torn.
    """
    last = len(lines) - 1
    return len(lines) < len(known) and [*lines[1:last]] == [*known[1:last]]


class _Reader:
    """Makes a record of one log."""

    def __init__(self, name: str, data: bytes, launch: str | None) -> None:
        self._data = data
        self._launch = launch
        self._rank = int(found[1]) if (found := _RANK.search(name)) else None
        self._first = data[: data.find(b"\n")]
        self._trace = Trace(self._note, reads_sources=False)
        self._events: list[tuple[float, Event]] = []
        self._listings: list[Listing] = []
        self._frames: dict[tuple[str, str], list[str]] = {}
        """Of each function, torch's numbers of its graphs."""
        self._directions: dict[str, list[str]] = {}
        self._lowered: dict[str, str] = {}
        """Of each compilation, the direction that inductor was given last."""
        self._texts: dict[int, str] = {}
        self._program: str | None = None
        self._version = ""
        self._pid = 0
        self._now = 0.0
        self._start = 0.0
        self._unread = 0

    def read(self) -> None:
        """Take all entries."""
        for entry in entries_in(self._data):
            if entry is None:
                self._unread += 1
                continue
            self._unread += entry.is_torn
            self._pid = self._pid or entry.pid
            try:
                self._look(entry)
                self._trace.take(entry.table, entry.text)
                self._graph(entry)
            except _UNEXPECTED:
                # Of another version of torch, or of nobody who means well.
                self._unread += not entry.is_torn

    def imported(self, left_out: int) -> ImportedRun:
        """The record of all that was taken."""
        run = self._run()
        tally = Tally(run)
        lines = [record.encode(Entry(0, 0, 0.0, run.start, run))]
        blobs: dict[str, bytes] = {}
        size = len(lines[0]) + 1
        for number, (when, event) in enumerate(self._events, 1):
            entry = Entry(number, 0, when, when, event)
            line = self._line(entry, blobs)
            if line is None:
                continue
            if size + len(line) > MOST - _ROOM:
                tally.lose(len(self._events) - number + 1)
                last = Entry(number, 0, when, when, Truncated(MOST))
                tally.count(last)
                lines.append(record.encode(last))
                break
            tally.count(entry)
            lines.append(line)
            size += len(line) + 1
        total = sum(len(line) + 1 for line in lines)
        summary = tally.summary(total)
        listings = self._listings
        return ImportedRun(run, lines, blobs, summary, listings, self._unread, left_out)

    def _line(self, entry: Entry, blobs: dict[str, bytes]) -> bytes | None:
        """The line of an event; None for what no record may say."""
        try:
            line = record.encode(entry)
            record.decode(line)
        except (RecordError, *_UNEXPECTED):
            self._unread += 1
            return None
        if len(line) < MOST_IN_LINE:
            return line
        if len(line) > MOST_IN_BLOB:
            self._unread += 1
            return None
        name = blob_name(line)
        blobs[name] = line
        inside = InBlob(kind_of(entry.event), name, len(line))
        return record.encode(msgspec.structs.replace(entry, event=inside))

    def _run(self) -> Run:
        when = min(max(self._start, 0.0), _LATEST)
        start = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(when))
        # The first line says when and by whom, to the microsecond: the same log, also
        # when it is longer, is the same run.
        digest = hashlib.sha256(self._first).hexdigest()[:16]
        name = f"{start}-imported-{self._pid}-{digest}"
        versions = {"torch": self._version} if self._version else {}
        return Run(
            schema=SCHEMA,
            id=name,
            launch=name if self._rank is None else self._launch or name,
            pid=self._pid,
            start=when,
            program=self._program,
            rank=self._rank,
            versions=versions,
        )

    def _note(self, event: Event) -> None:
        self._events.append((self._now, event))

    def _look(self, entry: TraceEntry) -> None:
        """Take what is said of the run, and of the time."""
        table = entry.table
        if "str" in table:
            text, number = table["str"]
            self._texts[number] = text
        elif "chromium_event" in table and entry.text is not None:
            self._now = float(msgspec.json.decode(entry.text, type=_Event).ts) / 1e6
            self._start = self._start or self._now
        elif "dynamo_start" in table and self._program is None:
            self._program = self._program_in(table["dynamo_start"].get("stack") or ())
        elif table.get("artifact", {}).get("name") == "torch_version":
            said = msgspec.json.decode(entry.text or "", type=_Version)
            self._version = said.pytorch_version[:100]
        rank = table.get("rank")
        if self._rank is None and isinstance(rank, int) and 0 <= rank < 2**31:
            self._rank = rank

    def _program_in(self, stack: Sequence[Mapping[str, Any]]) -> str | None:
        """The file that a program began with, by a stack of it."""
        rows = [
            (str(self._texts.get(row.get("filename", -1), "")), 0, row.get("name", ""))
            for row in reversed(stack)
        ]
        modules = [path for path, _, name in of_program(rows) if name == "<module>"]
        return modules[-1] if modules else None

    def _graph(self, entry: TraceEntry) -> None:
        """Take the graph of an entry, if it has one."""
        # Which of them have a word of their own, and which are artifacts, has changed.
        artifact = entry.table.get("artifact", {}).get("name")
        word = next((w for w in _STAGES if w in entry.table or w == artifact), None)
        name = id_of(entry.table)
        if word is None or name is None or entry.text is None:
            return
        if len(self._listings) >= _MOST_GRAPHS:
            return
        step = _STAGES[word]
        if word.startswith("aot_") and step != ("joint",):
            self._directions.setdefault(name, []).extend(step)
        elif step == ("post-grad",):
            # The forward is lowered first; the backward when it is needed.
            known = self._directions.get(name) or ["forward"]
            self._lowered[name] = known.pop(0) if len(known) > 1 else known[0]
            step = (self._lowered[name], *step)
        elif step == (KERNELS,):
            step = (self._lowered.get(name, "forward"), *step)
        identity = self._identity(name, step)
        code = f"The code of {identity.qualname}'s graph"
        head = [
            f"# {code}, which torch logged and fxls imported.",
            f"# It is {identity.stage} of {identity.qualname}.",
        ]
        if step[-1:] == (KERNELS,):
            found = logged_code(entry.text, identity, head)
        else:
            found = printed_graph(entry.text, identity, "\n".join((*head, "", "")))
        if found is None:
            self._unread += 1
            return
        facts = digest_of(encode(found))
        self._listings.append(found)
        path = Store(Path()).path_of(identity.class_name, found.text)
        self._note(Made(RevisionName(identity, path.name, facts)))

    def _identity(self, name: str, step: tuple[str, ...]) -> Identity:
        frame, _, count = name.rpartition("/")
        known = self._trace.function_of(name)
        function, place = known if known is not None else (f"frame {frame}", None)
        path = "" if place is None else place.place.path
        frames = self._frames.setdefault((path, function), [])
        if frame not in frames:
            frames.append(frame)
        stage = f"graph {frames.index(frame)}"
        if count != "0":
            stage += f", compilation {count}"
        module = re.split(r"[/\\]", path)[-1].removesuffix(".py")
        return Identity(
            _word(module) or "log",
            _word(function) or "graph",
            PRODUCER,
            ", ".join((stage, *step)),
            self._rank,
        )


class _Event(msgspec.Struct):
    ts: float


class _Version(msgspec.Struct):
    pytorch_version: str


_LATEST = 2.0**35
_UNEXPECTED = (
    *(AttributeError, IndexError, KeyError, OverflowError, RecursionError),
    *(TypeError, ValueError, msgspec.MsgspecError),
)
"""What reading raises that finds something else than torch writes."""


def _word(text: str) -> str:
    """A name without what would break a line."""
    return " ".join(text.split())[:200]
