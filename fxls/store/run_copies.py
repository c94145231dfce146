"""The copies of the records of runs of a store on another machine.

A record only grows, so what is new of it is read alone; it is put in place as a whole,
because others may copy the same store. What its lines name is copied before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fxls.store import files
from fxls.store.other_end import OtherEnd, Said
from fxls.store.run_pruning import MOST_BYTES, blobs_named_in, sweep
from fxls.store.runs import (
    BLOBS,
    FOLDER,
    MOST,
    MOST_IN_BLOB,
    MOST_IN_SUMMARY,
    blob_name,
    newest_ids,
    record_path,
    run_ids,
    summary_path,
)

__all__ = ["RunCopies"]

_AT_ONCE = 32
"""So many runs are asked for together."""
_SHORT = 1 << 20
"""So many bytes has a record at most that is asked for with others."""
_OVERLAP = 1 << 12
"""So many bytes of a copy are read again, to tell whether they are still the same."""
_DAY = 86400.0


class RunCopies:
    """The records in the copy of a store.

    The newest are copied, as many as have `MOST_BYTES`, which is what a store keeps; and
    of what lies beside them as much again. What the other end has no more is deleted, and
    a record that may not be read is left out: a record is private.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._said: dict[str, Said] = {}
        """What the other end said of each file that is copied."""

    def pull(self, other_end: OtherEnd) -> None:
        """Copy what is new; raises `StoreError` for the copy."""
        there = other_end.list(FOLDER) or {}
        staying = list(_fitting(there))
        blobs = _Blobs(self._root, other_end)
        for start in range(0, len(staying), _AT_ONCE):
            batch = staying[start : start + _AT_ONCE]
            asked = self._short(batch, there)
            short = other_end.read(asked, is_refusal_absence=True)
            for run in batch:
                self._copy_record(run, there[_names(run)[0]], short, blobs, other_end)
                self._copy_summary(_names(run)[1], there, short)
        self._delete(set(run_ids(self._root)).difference(staying), staying)

    def _short(self, runs: Iterable[str], there: Mapping[str, Said]) -> Iterator[str]:
        """The files of runs that are short, and to be read whole."""
        for run in runs:
            record, summary = _names(run)
            said = there[record]
            if said and said[0] <= _SHORT and not self._size(record):
                yield f"{FOLDER}/{record}"
            said = there.get(summary)
            if said and said[0] <= MOST_IN_SUMMARY and self._is_other(summary, said):
                yield f"{FOLDER}/{summary}"

    def _copy_record(
        self,
        run: str,
        said: Said,
        short: Mapping[str, bytes],
        blobs: _Blobs,
        other_end: OtherEnd,
    ) -> None:
        record, _ = _names(run)
        if said is not None and not self._is_other(record, said):
            self._said[record] = said
            return
        data = short.get(f"{FOLDER}/{record}")
        if data is None:
            data = self._read(record, said, other_end)
        # Half a line at its end comes when it is whole.
        data = data[: data[:MOST].rfind(b"\n") + 1]
        if data and len(data) != self._size(record):
            blobs.copy(data)
            path = record_path(self._root, run)
            files.write(self._root, path, data, is_private=True)
        self._said[record] = said

    def _copy_summary(
        self, summary: str, there: Mapping[str, Said], short: Mapping[str, bytes]
    ) -> None:
        content = short.get(f"{FOLDER}/{summary}")
        if content is not None:
            path = self._root / FOLDER / summary
            files.write(self._root, path, content, is_private=True)
        self._said[summary] = there.get(summary)

    def _read(self, record: str, said: Said, other_end: OtherEnd) -> bytes:
        """A record, of which no more is read than the copy lacks."""
        name, path = f"{FOLDER}/{record}", self._root / FOLDER / record
        if said is None:  # then not every file system can begin elsewhere
            return other_end.read_part(name, 0, MOST)
        most = min(said[0], MOST)
        _, copied = files.read_from(self._root, path, 0, MOST)
        start = max(0, len(copied) - _OVERLAP)
        if start and len(copied) <= most:
            part = other_end.read_part(name, start, most - start)
            if part.startswith(copied[start:]):
                return copied[:start] + part
        return other_end.read_part(name, 0, most)

    def _is_other(self, name: str, said: tuple[int, object]) -> bool:
        """Whether a file is another one than was copied."""
        if self._said.get(name) is not None:
            return self._said[name] != said
        return self._size(name) != said[0]

    def _size(self, name: str) -> int:
        found = files.sign(self._root / FOLDER / name)
        return found.size if found else 0

    def _delete(self, gone: set[str], staying: list[str]) -> None:
        for run in gone:
            files.delete(self._root, record_path(self._root, run))
            files.delete(self._root, summary_path(self._root, run))
            for name in _names(run):
                self._said.pop(name, None)
        if gone:
            sweep(self._root, staying, time.time() - _DAY)


class _Blobs:
    """What records name of their events, in one look at the other end."""

    def __init__(self, root: Path, other_end: OtherEnd) -> None:
        self._root = root
        self._other_end = other_end
        self._there: Mapping[str, Said] | None = None
        self._here: dict[str, int] | None = None

    def copy(self, record: bytes) -> None:
        """Copy what the lines of a record name, and the copy lacks, as far as it fits."""
        folder = self._root / FOLDER / BLOBS
        if self._here is None:
            found = files.signatures_in(self._root, folder)
            self._here = {name: one.size for name, one in found.items()}
        missing = blobs_named_in(record) - self._here.keys()
        if missing and self._there is None:
            self._there = self._other_end.list(f"{FOLDER}/{BLOBS}") or {}
        room = MOST_BYTES - sum(self._here.values())
        for name in sorted(missing & (self._there or {}).keys()):
            path = f"{FOLDER}/{BLOBS}/{name}"
            content = self._other_end.read_part(path, 0, MOST_IN_BLOB + 1)
            room -= len(content)
            if room < 0:
                return
            # Deleted in between, damaged there, or too long.
            if len(content) <= MOST_IN_BLOB and blob_name(content) == name:
                files.write(self._root, folder / name, content, is_private=True)
                self._here[name] = len(content)


def _fitting(there: Mapping[str, Said]) -> Iterator[str]:
    """The newest runs, as many as fit, by what is said of their records."""
    room = MOST_BYTES
    for run in newest_ids(there):
        said = there[_names(run)[0]]
        room -= MOST if said is None else min(said[0], MOST)
        if room < 0:
            return
        yield run


def _names(run: str) -> tuple[str, str]:
    """Of a record and its summary."""
    root = Path()
    return record_path(root, run).name, summary_path(root, run).name
