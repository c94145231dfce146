"""Records of runs, as far as they were read: of each only what is new is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from fxls.record import Entry
from fxls.store import StoreError
from fxls.store.runs import RecordBookmark, Runs, run_ids

__all__ = ["FollowedRecords", "Heres", "KeptRecords", "PartRead", "read_on"]

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


class FollowedRecords(Generic[_Kept]):
    """Records of each store that was asked for, as they were looked at last."""

    def __init__(
        self,
        report: Callable[[StoreError], None],
        heres: Heres,
        keep: Callable[[Entry], _Kept | None],
        followed: Callable[[Runs], Iterable[str]],
    ) -> None:
        """`keep` says what is needed of an entry, and `followed` which runs are read, in
        their order; both may raise `StoreError`.
        """
        self._report = report
        self._heres = heres
        self._keep = keep
        self._followed = followed
        self._lengths: dict[Path, Mapping[str, int]] = {}
        self._read: dict[Path, dict[str, PartRead[_Kept]]] = {}

    def of(self, root: Path) -> Iterable[tuple[_Kept, ...]]:
        """What is kept of each run of a store, in their order."""
        if root not in self._lengths:
            # First the lengths: what is written while this reads is read again.
            self._lengths[root] = Runs(root, self._report).sizes()
            self._read_on(root)
        return [part.kept for part in self._read.get(root, {}).values()]

    def look(self, lengths: Mapping[Path, Mapping[str, int]]) -> list[Path]:
        """Read what programs recorded since; the stores in which they did.

        `lengths` says how long each record of each store is.
        """
        grown = [
            root
            for root, before in self._lengths.items()
            if lengths.get(root, before) != before
        ]
        for root in grown:
            self._lengths[root] = lengths[root]
        return [root for root in grown if self._read_on(root)]

    def _read_on(self, root: Path) -> bool:
        """Whether it could be read; else what was read before is left."""
        runs = Runs(root, self._report, self._heres.get(root))
        before = self._read.get(root, {})
        try:
            self._read[root] = {
                run: read_on(runs, run, before.get(run, PartRead()), self._keep)
                for run in self._followed(runs)
            }
        except StoreError as error:
            self._report(error)
            return False
        return True
