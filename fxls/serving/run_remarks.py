"""What torch.compile could not do in the newest program of each store."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from fxls.record import Entry, Guards
from fxls.record.remarks import SourceRemark, merged, remarks_of
from fxls.record.sizes import InputSize, is_of_sizes, sizes_of
from fxls.said_once import SaidOnce
from fxls.serving.ownership import is_own
from fxls.store import StoreError, real_path
from fxls.store.runs import RecordBookmark, Runs, runs_signature

__all__ = ["RunRemarks"]

_log = logging.getLogger(__name__)

_Read = tuple[RecordBookmark, tuple[Entry, ...]]


@dataclass(slots=True)
class _Known:
    """What was read of the runs of a store."""

    signature: object = None
    read: dict[str, _Read] = field(default_factory=dict[str, _Read])
    """By run: how far, and the entries that remarks are made of."""
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

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self._unread = SaidOnce()

    def about(self, root: Path, path: str) -> tuple[SourceRemark, ...]:
        """The remarks of the newest program of a store that are shown in a file."""
        if root not in self._known:
            self._known[root] = _Known()
            self._look_at(root)
        return self._known[root].by_path.get(real_path(path), ())

    def sizes(self, root: Path, path: str) -> tuple[InputSize, ...]:
        """What is known of the inputs of the functions of a file, as `about`."""
        self.about(root, path)
        return self._known[root].sizes.get(real_path(path), ())

    def look(self) -> bool:
        """Read what programs recorded since; whether there are other remarks."""
        changed = [root for root in self._known if self._look_at(root)]
        return bool(changed)

    def _look_at(self, root: Path) -> bool:
        known = self._known[root]
        try:
            signature = runs_signature(root, known.read)
        except StoreError as error:
            self._warn(error)
            return False
        if signature == known.signature:
            return False
        known.signature = signature
        runs = Runs(root, self._warn)
        try:
            known.read = {
                name: _read_on(runs, name, known.read.get(name))
                for name in runs.newest_launch()
            }
        except StoreError as error:
            self._warn(error)
            return False
        found = merged(
            one
            for _, entries in known.read.values()
            for one in remarks_of(entries, is_own)
        )
        before = known.by_path, known.sizes
        known.by_path = _by_path(found)
        known.sizes = _sizes_by_path(known.read.values())
        return before != (known.by_path, known.sizes)

    def _warn(self, error: StoreError) -> None:
        if self._unread.is_first(str(error.path), str(error)):
            _log.warning("%s", error)


def _read_on(runs: Runs, name: str, before: _Read | None) -> _Read:
    """What there is of a run, behind what was read before."""
    part = runs.read(name, before[0] if before else None)
    kept = tuple(map(_short, filter(is_of_sizes, part.entries)))
    earlier = () if before is None or part.begins else before[1]
    return part.bookmark, (*earlier, *kept)


def _short(entry: Entry) -> Entry:
    """An event without the guards that say nothing of sizes, which are most of it."""
    guards = entry.event
    if not isinstance(guards, Guards):
        return entry
    first = tuple(one for one in guards.first if one.kind == "SHAPE_ENV")
    return replace(entry, event=replace(guards, first=first))


def _sizes_by_path(read: Iterable[_Read]) -> dict[str, tuple[InputSize, ...]]:
    paths: dict[str, dict[InputSize, None]] = {}
    for _, entries in read:
        for one in sizes_of(entries):
            path = real_path(one.function.place.path)
            paths.setdefault(path, {})[one] = None
    return {path: tuple(sizes) for path, sizes in paths.items()}


def _by_path(found: tuple[SourceRemark, ...]) -> dict[str, tuple[SourceRemark, ...]]:
    paths: dict[str, list[SourceRemark]] = {}
    for one in found:
        if one.place is not None and is_own(one.place.place.path):
            paths.setdefault(real_path(one.place.place.path), []).append(one)
    return {path: tuple(remarks) for path, remarks in paths.items()}
