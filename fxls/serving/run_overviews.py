"""The runs of the stores and what each did, for a view of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from fxls.record import (
    Compilation,
    Entry,
    Event,
    Guards,
    Made,
    Pass,
    Remark,
    Searched,
    Spent,
)
from fxls.record.run_overview import RunOverview, overview_of
from fxls.serving.kept_records import Heres, KeptRecords
from fxls.store import Store, StoreError, files
from fxls.store.run_ranks import RankDifference, differences, ranks_of
from fxls.store.runs import RunInList, Runs, is_run_id

__all__ = ["OverviewInStore", "RunOverviews"]

_MOST = 100
"""So many runs of a store are listed: the newest."""
_KEPT = 1
"""So many records stay in memory: who looks at a run looks at it again as it goes on."""


@dataclass(frozen=True, slots=True)
class OverviewInStore:
    """What a run did, and the store that has its listings."""

    root: Path
    overview: RunOverview
    texts: frozenset[str]
    """The names of the files that are there."""
    ranks: tuple[RunInList, ...] = ()
    """All of the launch, if it has several."""
    differences: tuple[RankDifference, ...] = ()
    """The first of each rank that has one."""


class RunOverviews:
    """Reads of each record that is asked for what is new."""

    def __init__(self, report: Callable[[StoreError], None], heres: Heres) -> None:
        self._report = report
        self._heres = heres
        self._records = KeptRecords(report, heres, _of_overview, _KEPT)
        self._differences: tuple[object, tuple[RankDifference, ...]] = (None, ())
        """Those that were asked for last, and of which records they are."""

    def newest(self, roots: Iterable[Path]) -> list[RunInList]:
        """The newest runs of the stores, the newest first."""
        found = [one for root in roots for one in self._of(root)]
        return sorted(found, key=lambda one: one.run.start, reverse=True)

    def overview(
        self, roots: Iterable[Path], run: str, store_at: Callable[[Path], Store]
    ) -> OverviewInStore | None:
        """What a run did; None when no store has it."""
        if not is_run_id(run):
            return None
        for root in roots:
            if run in self._records.ids(root):
                overview = overview_of(self._records.of(root, run))
                return OverviewInStore(
                    root, overview, self._texts(root), *self._ranks(store_at(root), run)
                )
        return None

    def _ranks(
        self, store: Store, run: str
    ) -> tuple[tuple[RunInList, ...], tuple[RankDifference, ...]]:
        runs = Runs(store.root, self._report, self._heres.get(store.root))

        def events_of(run: str) -> Iterator[Event]:
            return (entry.event for entry in runs.read(run).entries)

        try:
            ranks = ranks_of(runs, run)
        except StoreError as trouble:
            self._report(trouble)
            return (), ()
        key = (store.root, [(one.run.id, one.summary.size) for one in ranks])
        if self._differences[0] != key:
            found = differences(ranks, events_of, store, self._report)
            self._differences = (key, tuple(found))
        return tuple(ranks), self._differences[1]

    def _of(self, root: Path) -> Iterator[RunInList]:
        runs = Runs(root, self._report, self._heres.get(root))
        for name in self._records.ids(root)[:_MOST]:
            try:
                yield runs.one(name)
            except StoreError as trouble:
                self._report(trouble)

    def _texts(self, root: Path) -> frozenset[str]:
        try:
            return frozenset(files.names_in(root, root))
        except StoreError as trouble:
            self._report(trouble)
            return frozenset()


def _of_overview(entry: Entry) -> Event | None:
    """What an overview is made of, without the passes that changed nothing and the texts
    of the guards, which are most of it.
    """
    event = entry.event
    if isinstance(event, Pass):
        return event if event.changed else None
    if isinstance(event, Guards):
        return replace(event, first=())
    of = Compilation | Made | Remark | Searched | Spent
    return event if isinstance(event, of) else None
