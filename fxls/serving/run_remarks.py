"""What torch.compile could not do in the newest program of each store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from fxls.record import Entry, Guards
from fxls.record.remarks import SourceRemark, at_each_place, merged, remarks_of
from fxls.record.sizes import InputSize, is_of_sizes, sizes_of
from fxls.serving.kept_records import Heres, PartRead, read_on
from fxls.serving.ownership import is_own
from fxls.store import StoreError, real_path
from fxls.store.runs import Runs

__all__ = ["RunRemarks"]


@dataclass(slots=True)
class _Known:
    """What was read of the runs of a store."""

    lengths: Mapping[str, int]
    """By run: how long its record was when it was read."""
    read: dict[str, PartRead[Entry]] = field(default_factory=dict[str, PartRead[Entry]])
    """By run: the entries that remarks are made of."""
    by_path: dict[str, tuple[SourceRemark, ...]] = field(
        default_factory=dict[str, tuple[SourceRemark, ...]]
    )
    """By the file that they are shown in, without links."""
    sizes: dict[str, tuple[InputSize, ...]] = field(
        default_factory=dict[str, tuple[InputSize, ...]]
    )
    """Likewise."""


class RunRemarks:
    """The remarks of each store that was asked for, as they were looked at last."""

    def __init__(self, report: Callable[[StoreError], None], heres: Heres) -> None:
        self._report = report
        self._heres = heres
        self._known: dict[Path, _Known] = {}

    def about(self, root: Path, path: str) -> tuple[SourceRemark, ...]:
        """The remarks of the newest program of a store that are shown in a file."""
        if root not in self._known:
            # First the lengths: what is written while this reads is read again.
            self._known[root] = _Known(Runs(root, self._report).sizes())
            self._read(root)
        return self._known[root].by_path.get(real_path(path), ())

    def sizes(self, root: Path, path: str) -> tuple[InputSize, ...]:
        """What is known of the inputs of the functions of a file, as `about`."""
        self.about(root, path)
        return self._known[root].sizes.get(real_path(path), ())

    def look(self, lengths: Mapping[Path, Mapping[str, int]]) -> bool:
        """Read what programs recorded since; whether there are other remarks.

        `lengths` says how long each record of each store is.
        """
        is_other = False
        for root, known in self._known.items():
            now = lengths.get(root, known.lengths)
            if now != known.lengths:
                known.lengths = now
                is_other |= self._read(root)
        return is_other

    def _read(self, root: Path) -> bool:
        known = self._known[root]
        runs = Runs(root, self._report, self._heres.get(root))
        try:
            known.read = {
                name: read_on(runs, name, known.read.get(name, PartRead()), _short)
                for name in runs.newest_launch()
            }
        except StoreError as error:
            self._report(error)
            return False
        found = merged(
            one for read in known.read.values() for one in remarks_of(read.kept, is_own)
        )
        before = known.by_path, known.sizes
        known.by_path = _by_path(found)
        known.sizes = _sizes_by_path(known.read.values())
        return before != (known.by_path, known.sizes)


def _short(entry: Entry) -> Entry | None:
    """What remarks are made of, without the guards that say nothing of sizes, which are
    most of it; None for another entry.
    """
    guards = entry.event
    if not is_of_sizes(entry):
        return None
    if not isinstance(guards, Guards):
        return entry
    first = tuple(one for one in guards.first if one.kind == "SHAPE_ENV")
    return replace(entry, event=replace(guards, first=first))


def _sizes_by_path(
    read: Iterable[PartRead[Entry]],
) -> dict[str, tuple[InputSize, ...]]:
    paths: dict[str, dict[InputSize, None]] = {}
    for part in read:
        for one in sizes_of(part.kept):
            path = real_path(one.function.place.path)
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
