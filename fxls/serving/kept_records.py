"""Records of runs, as far as they were read: of each only what is new is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from fxls.record import Entry
from fxls.store import StoreError
from fxls.store.runs import RecordBookmark, Runs, run_ids

__all__ = ["Heres", "KeptRecords", "PartRead", "read_on"]

_Kept = TypeVar("_Kept")

Heres = Mapping[Path, Callable[[str], str]]
"""By the root of a copy, what gives the path here of a file of the other machine."""


@dataclass(frozen=True, slots=True)
class PartRead(Generic[_Kept]):
    """What somebody keeps of a record, as far as it was read."""

    kept: tuple[_Kept, ...] = ()
    bookmark: RecordBookmark | None = None


def read_on(
    runs: Runs,
    run: str,
    before: PartRead[_Kept],
    keep: Callable[[Entry], _Kept | None],
) -> PartRead[_Kept]:
    """What there is of a record, of which only what is new is read.

    Raises `StoreError`.
    """
    part = runs.read(run, before.bookmark)
    new = [one for entry in part.entries if (one := keep(entry)) is not None]
    if part.begins:
        return PartRead((*new,), part.bookmark)
    return PartRead((*before.kept, *new) if new else before.kept, part.bookmark)


class KeptRecords(Generic[_Kept]):
    """What somebody needs of the records that were asked for last."""

    def __init__(
        self,
        report: Callable[[StoreError], None],
        heres: Heres,
        keep: Callable[[Entry], _Kept | None],
        most: int,
    ) -> None:
        """`keep` says what is needed of an entry, and `most` how many records stay in
        memory: one has 32 MB at most.
        """
        self._report = report
        self._heres = heres
        self._keep = keep
        self._most = most
        self._read: dict[tuple[Path, str], PartRead[_Kept]] = {}

    def ids(self, root: Path) -> tuple[str, ...]:
        """The runs of a store, the newest first; none of one that cannot be read."""
        try:
            return run_ids(root)
        except StoreError as trouble:
            self._report(trouble)
            return ()

    def of(self, root: Path, run: str) -> tuple[_Kept, ...]:
        """What is kept of a run, as far as it can be read."""
        known = self._read.pop((root, run), PartRead())
        runs = Runs(root, self._report, self._heres.get(root))
        try:
            known = read_on(runs, run, known, self._keep)
        except StoreError as trouble:
            self._report(trouble)
        self._read[root, run] = known
        while len(self._read) > self._most:
            del self._read[next(iter(self._read))]
        return known.kept
