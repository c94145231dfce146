"""How long nodes take: as runs recorded it of kernels, and as the worker measured it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fxls.listing import Identity
from fxls.record import Entry, Spent
from fxls.record.kernel_times import spent_by_listing
from fxls.serving.kept_records import Heres, PartRead, read_on
from fxls.store import StoreError
from fxls.store.runs import Runs, run_ids

__all__ = ["KnownTimes"]

_MOST_RUNS = 8
"""So many runs of a store are looked through, the newest."""
_MOST_MEASURED = 16
"""Of so many listings it is remembered what the worker measured."""

_BySpent = Mapping[tuple[Identity, str], Spent]


@dataclass(slots=True)
class _Known:
    """What was read of the runs of a store."""

    lengths: Mapping[str, int]
    read: dict[str, PartRead[Spent]] = field(default_factory=dict[str, PartRead[Spent]])
    spent: _BySpent = field(default_factory=dict[tuple[Identity, str], Spent])


class KnownTimes:
    """The times of each store that was asked for, as they were looked at last."""

    def __init__(self, report: Callable[[StoreError], None], heres: Heres) -> None:
        self._report = report
        self._heres = heres
        self._known: dict[Path, _Known] = {}
        self._measured: dict[str, tuple[int, ...]] = {}

    def spent(self, root: Path) -> _BySpent:
        """What the newest run that measured a listing says of it, by its text."""
        if root not in self._known:
            # First the lengths: what is written while this reads is read again.
            self._known[root] = _Known(Runs(root, self._report).sizes())
            self._read(root)
        return self._known[root].spent

    def look(self, lengths: Mapping[Path, Mapping[str, int]]) -> bool:
        """Read what programs recorded since; whether there are other times.

        `lengths` says how long each record of each store is.
        """
        is_other = False
        for root, known in self._known.items():
            now = lengths.get(root, known.lengths)
            if now != known.lengths:
                known.lengths = now
                is_other |= self._read(root)
        return is_other

    def measure(self, path: str, nanoseconds: tuple[int, ...]) -> None:
        """Remember what the worker measured of the nodes of a listing."""
        self._measured.pop(path, None)
        self._measured[path] = nanoseconds
        while len(self._measured) > _MOST_MEASURED:
            del self._measured[next(iter(self._measured))]

    def measured(self, path: str) -> tuple[int, ...]:
        """What the worker measured of a listing; empty where nobody asked."""
        return self._measured.get(path, ())

    def _read(self, root: Path) -> bool:
        known = self._known[root]
        runs = Runs(root, self._report, self._heres.get(root))
        try:
            known.read = {
                run: read_on(runs, run, known.read.get(run, PartRead()), _measurement)
                for run in reversed(run_ids(root)[:_MOST_RUNS])
            }
        except StoreError as error:
            self._report(error)
            return False
        before, spent = known.spent, dict[tuple[Identity, str], Spent]()
        for read in known.read.values():
            spent |= spent_by_listing(read.kept)
        known.spent = spent
        return before != spent


def _measurement(entry: Entry) -> Spent | None:
    spent = entry.event
    return spent if isinstance(spent, Spent) and spent.calls else None
