"""What torch.compile could not do in the newest program of each store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from fxls.record import Entry, Guards, Searched
from fxls.record.remarks import SourceRemark, at_each_place, merged, remarks_of
from fxls.record.sizes import DataSize, InputSize, is_of_sizes, sizes_of
from fxls.serving.kept_records import FollowedRecords, Heres
from fxls.serving.ownership import is_own
from fxls.store import StoreError, real_path
from fxls.store.runs import Runs

__all__ = ["RunRemarks"]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is made of the newest program of a store."""

    by_path: dict[str, tuple[SourceRemark, ...]]
    """By the file that they are shown in, without links."""
    sizes: dict[str, tuple[InputSize | DataSize, ...]]
    """Likewise."""


class RunRemarks:
    """The remarks of each store that was asked for, as they were looked at last."""

    def __init__(self, report: Callable[[StoreError], None], heres: Heres) -> None:
        self._records = FollowedRecords(report, heres, _short, Runs.newest_launch)
        self._known: dict[Path, _Known] = {}

    def about(self, root: Path, path: str) -> tuple[SourceRemark, ...]:
        """The remarks of the newest program of a store that are shown in a file."""
        return self._of(root).by_path.get(real_path(path), ())

    def sizes(self, root: Path, path: str) -> tuple[InputSize | DataSize, ...]:
        """What is known of the sizes in the functions of a file, as `about`."""
        return self._of(root).sizes.get(real_path(path), ())

    def look(self, lengths: Mapping[Path, Mapping[str, int]]) -> bool:
        """Read what programs recorded since; whether there are other remarks.

        `lengths` says how long each record of each store is.
        """
        before = dict(self._known)
        for root in self._records.look(lengths):
            self._known[root] = self._made(root)
        return before != self._known

    def _of(self, root: Path) -> _Known:
        if root not in self._known:
            self._known[root] = self._made(root)
        return self._known[root]

    def _made(self, root: Path) -> _Known:
        runs = [*self._records.of(root)]
        found = merged(one for kept in runs for one in remarks_of(kept, is_own))
        return _Known(_by_path(found), _sizes_by_path(runs))


def _short(entry: Entry) -> Entry | None:
    """What remarks are made of, without the guards that say nothing of sizes, which are
    most of it; None for another entry.
    """
    guards = entry.event
    if not (is_of_sizes(entry) or isinstance(guards, Searched)):
        return None
    if not isinstance(guards, Guards):
        return entry
    first = tuple(one for one in guards.first if one.kind in ("SHAPE_ENV", "SIZE"))
    return replace(entry, event=replace(guards, first=first))


def _sizes_by_path(
    runs: Iterable[tuple[Entry, ...]],
) -> dict[str, tuple[InputSize | DataSize, ...]]:
    paths: dict[str, dict[InputSize | DataSize, None]] = {}
    for kept in runs:
        for one in sizes_of(kept):
            of = one.place if isinstance(one, DataSize) else one.function
            path = real_path(of.place.path)
            paths.setdefault(path, {})[one] = None
    return {path: tuple(sizes) for path, sizes in paths.items()}


def _by_path(found: tuple[SourceRemark, ...]) -> dict[str, tuple[SourceRemark, ...]]:
    paths: dict[str, list[SourceRemark]] = {}
    for one in found:
        for placed in at_each_place(one):
            place = placed.place
            if place is not None and is_own(place.place.path):
                paths.setdefault(real_path(place.place.path), []).append(placed)
    return {path: tuple(remarks) for path, remarks in paths.items()}
