"""How long nodes take: as runs recorded it of kernels, and as the worker measured it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fxls.listing import Identity
from fxls.record import Entry, Spent
from fxls.record.kernel_times import spent_by_listing
from fxls.serving.kept_records import FollowedRecords, Heres
from fxls.store import StoreError
from fxls.store.runs import Runs

__all__ = ["KnownTimes"]

_MOST_RUNS = 8
"""So many runs of a store are looked through, the newest."""
_MOST_MEASURED = 16
"""Of so many listings it is remembered what the worker measured."""

_BySpent = Mapping[tuple[Identity, str], Spent]


class KnownTimes:
    """The times of each store that was asked for, as they were looked at last."""

    def __init__(self, report: Callable[[StoreError], None], heres: Heres) -> None:
        self._records = FollowedRecords(report, heres, _measurement, _latest)
        self._spent: dict[Path, _BySpent] = {}
        self._measured: dict[str, tuple[int, ...]] = {}

    def spent(self, root: Path) -> _BySpent:
        """What the newest run that measured a listing says of it, by its text."""
        if root not in self._spent:
            self._spent[root] = self._merged(root)
        return self._spent[root]

    def look(self, lengths: Mapping[Path, Mapping[str, int]]) -> bool:
        """Read what programs recorded since; whether there are other times.

        `lengths` says how long each record of each store is.
        """
        before = dict(self._spent)
        for root in self._records.look(lengths):
            self._spent[root] = self._merged(root)
        return before != self._spent

    def measure(self, path: str, nanoseconds: tuple[int, ...]) -> None:
        """Remember what the worker measured of the nodes of a listing."""
        self._measured.pop(path, None)
        self._measured[path] = nanoseconds
        while len(self._measured) > _MOST_MEASURED:
            del self._measured[next(iter(self._measured))]

    def measured(self, path: str) -> tuple[int, ...]:
        """What the worker measured of a listing; empty where nobody asked."""
        return self._measured.get(path, ())

    def _merged(self, root: Path) -> _BySpent:
        merged: dict[tuple[Identity, str], Spent] = {}
        for kept in self._records.of(root):
            merged |= spent_by_listing(kept)
        return merged


def _latest(runs: Runs) -> Iterable[str]:
    return reversed(runs.ids()[:_MOST_RUNS])


def _measurement(entry: Entry) -> Spent | None:
    spent = entry.event
    return spent if isinstance(spent, Spent) and spent.calls else None
