"""Writes the record of this process, by one thread that begins with the first event.

A program that only makes listings has no record: the store says of them what there is.
What a kill loses is what came in the last moments before it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from fxls import record
from fxls.record import (
    MOST_IN_LINE,
    Counts,
    End,
    Entry,
    Guards,
    InBlob,
    Made,
    Run,
    Truncated,
    kind_of,
    run_summary,
)
from fxls.record.run_summary import Tally
from fxls.runtime.debugging import pydevd
from fxls.runtime.faults import logging_faults
from fxls.runtime.record.recorder import Stamped, stamped
from fxls.store import files, runs

__all__ = ["RecordWriter"]

_MOST_WAITING = 10_000
"""So many events wait to be written; others are lost, and counted."""
_MOST_EARLY = 1_000
"""So many listings are remembered until there is a record."""
_ROOM = 64 << 10
"""So many bytes are kept for what a record ends with."""
_LONGEST = 5.0
"""Seconds that the end of the program waits for the thread."""
_QUIET = 0.5
"""Seconds without an event after which the summary is written, and the thread ends."""


class RecordWriter:
    """The record of one run; a new one of a process that was forked."""

    def __init__(
        self, root: Path, head: Callable[[], Run], most: int = runs.MOST
    ) -> None:
        """`head` says what the record begins with, once it is needed; `most` are the
        bytes that it may have.
        """
        self._root = root
        self._head = head
        self._most = most
        self._pid = os.getpid()
        self._open: _Open | None = None
        self._begin()
        if hasattr(os, "register_at_fork"):  # Windows never forks
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Begin again, in a process that was forked: the record is another one's."""
        if self._open is not None:
            self._open.abandon()
        self._begin()

    def _begin(self) -> None:
        self._waiting: queue.SimpleQueue[Stamped | None] = queue.SimpleQueue()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        # The thread that holds it may put an event: what is collected can say something.
        self._starting = threading.RLock()
        self._refused = 0
        self._is_over = False
        self._ends_with_worker = False
        self._open = None
        self._early: deque[Stamped] = deque(maxlen=_MOST_EARLY)
        """Listings that were made before there was anything to say of them."""

    def put(self, stamped: Stamped) -> None:
        """Let an event be written soon; it never waits, and never raises."""
        if self._is_over:
            return
        if self._open is None and isinstance(stamped[0], Made):
            self._early.append(stamped)
            return
        if self._waiting.qsize() >= _MOST_WAITING:
            self._refused += 1
            return
        self._waiting.put(stamped)
        with self._starting:
            if self._thread is None:
                self._start()

    def finish(self, end: Stamped) -> None:
        """Write what waits, and that the run ended; take nothing any more."""
        if self._is_over:
            return
        self._is_over = True
        thread = self._thread
        self._waiting.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LONGEST)
        with self._writing, logging_faults(_FAULT):
            self._write_waiting()
            if self._open is not None:
                self._open.close(end, self._refused)
                self._open = None

    def cut(self, end: Stamped, begin: Callable[[], None]) -> None:
        """`finish`, `begin` another run, and write that; what other threads say meanwhile
        is in neither.
        """
        if not self._is_over:
            self.finish(end)
            begin()
            self._begin()

    def flush(self) -> None:
        """Write what waits."""
        with self._writing, logging_faults(_FAULT):
            self._write_waiting()
            if self._open is not None:
                self._open.summarize()

    def _finish_worker(self) -> None:
        self.finish(stamped(End()))

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="fxls record", daemon=True)
        pydevd.let_run(thread)
        self._thread = thread
        if os.getpid() != self._pid and not self._ends_with_worker:
            self._ends_with_worker = True
            _at_end_of_worker(self._finish_worker)
        try:
            thread.start()
        except RuntimeError:
            self._is_over = True  # the interpreter ends, or there are too many threads

    def _run(self) -> None:
        """Write until nothing came for a while, or the run ends."""
        while not self._is_over:
            try:
                one = self._waiting.get(timeout=_QUIET)
            except queue.Empty:
                if self._has_ended():
                    return
                continue
            with self._writing, logging_faults(_FAULT):
                if one is not None:
                    self._write(one)
                self._write_waiting()
                if self._open is not None and self._open.is_new:
                    self._open.summarize()

    def _has_ended(self) -> bool:
        """Whether the thread ends: who puts an event from now on starts another one."""
        with self._writing, logging_faults(_FAULT):
            if self._open is not None:
                self._open.summarize()
        with self._starting:
            if not self._waiting.empty():
                return False
            self._thread = None
            return True

    def _write_waiting(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                one = self._waiting.get_nowait()
                if one is not None:
                    self._write(one)
        if self._open is not None:
            self._write_early()

    def _write(self, stamped: Stamped) -> None:
        if self._open is None:
            try:
                self._open = _Open(self._root, self._head(), stamped, self._most)
            except Exception:
                self._is_over = True  # what keeps it from being written is said once
                raise
        try:
            self._write_early()
            self._open.add(stamped)
        except Exception:
            self._is_over = True
            raise

    def _write_early(self) -> None:
        assert self._open is not None, "the callers know"
        while self._early:
            self._open.add(self._early.popleft())


def _at_end_of_worker(call: Callable[[], None]) -> None:
    """Do this when a process ends that `multiprocessing` forked, which asks no `atexit`."""
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, call, exitpriority=1)


_FAULT = "the record of this run is not whole"


class _Open:
    """A record that is being written."""

    def __init__(self, root: Path, run: Run, first: Stamped, most: int) -> None:
        self._root = root
        self._run = run
        self._most = most
        self._tally = Tally(run)
        self._counts: Counter[str] = Counter()
        self._blobs = 0
        self._number = 0
        self._is_truncated = False
        self.is_new = True
        self._file = files.Growing(root, runs.record_path(root, run.id))
        line = record.encode(self._entry((run, *first[1:])))
        if len(line) >= MOST_IN_LINE:
            run = msgspec.structs.replace(run, arguments=(), program=None)
            line = record.encode(self._entry((run, *first[1:])))
        self._file.add(line)
        self._number = 1

    def add(self, stamped: Stamped) -> None:
        """Write an event, or count it where there is no room for it."""
        entry = self._entry(stamped)
        event = entry.event
        self._counts[kind_of(event)] += 1
        if self._is_truncated:
            self._tally.count(entry, is_written=False)
            return
        line = record.encode(entry)
        size = len(line)
        is_too_much = isinstance(event, Guards) and self._blobs > self._most // 4
        if size > runs.MOST_IN_BLOB or is_too_much:
            # Of ten thousand compilations the outcome is worth more than the guards.
            self._tally.count(entry, is_written=False)
            return
        if self._file.size + self._blobs + size + _ROOM > self._most:
            self._is_truncated = True
            self._add(self._entry((Truncated(self._most), *stamped[1:])))
            self._tally.count(entry, is_written=False)
            return
        if size >= MOST_IN_LINE:
            line = self._in_blob(entry)
        self._add_line(entry, line)

    def summarize(self) -> None:
        """Write what is counted so far."""
        self.is_new = False
        path = runs.summary_path(self._root, self._run.id)
        content = run_summary.encode(self._tally.summary(self._file.size))
        files.write(self._root, path, content, is_private=True)

    def close(self, end: Stamped, refused: int) -> None:
        """Write how many events there were, where some are lost, and that it ended."""
        self._tally.lose(refused)
        if self._tally.lost:
            counts = Counts(dict(self._counts), self._tally.lost)
            self._add(self._entry((counts, *end[1:])))
        self._add(self._entry(end))
        self.summarize()
        self._file.close()

    def abandon(self) -> None:
        """Leave it to the process that opened it."""
        self._file.close()

    def _in_blob(self, entry: Entry) -> bytes:
        # Of processes that say the same, as ranks do, one writes it.
        content = record.encode(Entry(0, 0, 0.0, 0.0, entry.event))
        name = runs.blob_name(content)
        path = self._root / runs.FOLDER / runs.BLOBS / name
        if not files.is_there(path):
            files.write(self._root, path, content, is_private=True)
        self._blobs += len(content)
        short = InBlob(kind_of(entry.event), name, len(content))
        return record.encode(msgspec.structs.replace(entry, event=short))

    def _add(self, entry: Entry) -> None:
        self._add_line(entry, record.encode(entry))

    def _add_line(self, entry: Entry, line: bytes) -> None:
        self._file.add(line)
        self._number += 1
        self._tally.count(entry)

    def _entry(self, stamped: Stamped) -> Entry:
        event, thread, clock, when = stamped
        return Entry(self._number, thread, clock, when, event)
