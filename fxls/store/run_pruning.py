"""Which records of runs go: those of old runs, and of many the oldest.

The record of a process that lives stays. A blob goes when no record names it, a day
later, because one that is being written is named only then.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from fxls import record
from fxls.machine import boot, host, is_alive
from fxls.record import MOST_IN_LINE, Made, Pass, RecordError
from fxls.store import files
from fxls.store.errors import StoreError, Unreadable
from fxls.store.runs import (
    BLOBS,
    FOLDER,
    MOST,
    Runs,
    record_path,
    run_ids,
    summary_path,
)

__all__ = ["MOST_BYTES", "blobs_named_in", "named_by_living", "prune_runs", "sweep"]

MOST_BYTES = 128 << 20
"""So many bytes the records of all runs may have, besides those of today."""

_DAY = 86400.0
_SUFFIX = ".jsonl"
_NAMED = re.compile(rb'"kind":"blob","of":"[a-z]{1,20}","name":"([0-9a-f]{32})"')


def prune_runs(
    root: Path, *, days: float, now: float, is_all: bool, is_rehearsal: bool
) -> tuple[str, ...]:
    """The ids of the runs whose records go; raises `Unreadable` or `Unwritable`."""
    folder = root / FOLDER
    signatures = files.signatures_in(root, folder)
    records = {
        name.removesuffix(_SUFFIX): one
        for name, one in signatures.items()
        if name.endswith(_SUFFIX)
    }
    going: list[str] = []
    left = sum(one.size for one in records.values())
    for run in sorted(records, key=lambda run: records[run].modified):
        age = now - records[run].modified / 1e9
        is_old = age >= max(days * _DAY, _DAY) or (age >= _DAY and left > MOST_BYTES)
        if (is_all or is_old) and not _lives(root, run):
            going.append(run)
            left -= records[run].size
    if not is_rehearsal:
        for run in going:
            files.delete(root, record_path(root, run))
            files.delete(root, summary_path(root, run))
        staying = [run for run in records if run not in set(going)]
        sweep(root, staying, now if is_all else now - _DAY)
    return tuple(going)


def named_by_living(root: Path) -> frozenset[str]:
    """The names of the texts that the records of runs name whose processes are there.

    Raises `Unreadable`.
    """
    found: set[str] = set()
    for run in run_ids(root):
        if _lives(root, run):
            with contextlib.suppress(StoreError):
                for entry in Runs(root, _unsaid).read(run).entries:
                    match entry.event:
                        case Made(revision=one):
                            found.add(one.text)
                        case Pass(before=before, after=after):
                            found |= {one.text for one in (before, after) if one}
                        case _:
                            pass
    return frozenset(found)


def _unsaid(_trouble: StoreError) -> None:
    """What is wrong with a record is said by whoever shows it."""


def _lives(root: Path, run: str) -> bool:
    try:
        path = record_path(root, run)
        _, data = files.read_from(root, path, 0, MOST_IN_LINE + 1)
        head = record.decode_run(data.partition(b"\n")[0])
    except (RecordError, Unreadable):
        return False
    # Of another machine nobody can tell; it goes by its age.
    return head.host == host() and head.boot == boot() and is_alive(head.pid)


def blobs_named_in(data: bytes) -> set[str]:
    """The names of the files that lines of a record name."""
    return {name.decode() for name in _NAMED.findall(data)}


def sweep(root: Path, staying: list[str], before: float) -> None:
    """Delete the blobs from before some time that no record of the runs that stay names;
    raises `Unreadable` or `Unwritable`.
    """
    blobs = files.signatures_in(root, root / FOLDER / BLOBS)
    old = {name for name, one in blobs.items() if one.modified / 1e9 < before}
    if not old:
        return
    for run in staying:
        with contextlib.suppress(Unreadable):
            _, data = files.read_from(root, record_path(root, run), 0, MOST)
            old -= blobs_named_in(data)
    for name in old:
        files.delete(root, root / FOLDER / BLOBS / name)
