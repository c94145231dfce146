"""How far values of nodes are off, as the newest comparison of each graph recorded it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from fxls.listing import Identity
from fxls.record import Entry, Judged
from fxls.record.node_errors import captured
from fxls.serving.kept_records import FollowedRecords, Heres
from fxls.store import StoreError
from fxls.store.runs import Runs

__all__ = ["KnownErrors"]

_MOST_RUNS = 8
"""So many runs of a store are looked through, the newest."""

_ByGraph = Mapping[Identity, Sequence[Judged]]


class KnownErrors:
    """What was judged in each store that was asked for, as it was looked at last."""

    def __init__(self, report: Callable[[StoreError], None], heres: Heres) -> None:
        self._records = FollowedRecords(report, heres, _judged, _latest)
        self._known: dict[Path, _ByGraph] = {}

    def of(self, root: Path, identity: Identity) -> Sequence[Judged]:
        """What the newest run that compared a graph judged of all its stages."""
        if root not in self._known:
            self._known[root] = self._merged(root)
        return self._known[root].get(captured(identity), ())

    def look(self, lengths: Mapping[Path, Mapping[str, int]]) -> bool:
        """Read what programs recorded since; whether other values are known.

        `lengths` says how long each record of each store is.
        """
        before = dict(self._known)
        for root in self._records.look(lengths):
            self._known[root] = self._merged(root)
        return before != self._known

    def _merged(self, root: Path) -> _ByGraph:
        merged: dict[Identity, list[Judged]] = {}
        for kept in self._records.of(root):
            of_run: dict[Identity, list[Judged]] = {}
            for one in kept:
                of_run.setdefault(captured(one.revision.identity), []).append(one)
            merged |= of_run
        return merged


def _latest(runs: Runs) -> Iterable[str]:
    return reversed(runs.ids()[:_MOST_RUNS])


def _judged(entry: Entry) -> Judged | None:
    return entry.event if isinstance(entry.event, Judged) else None
