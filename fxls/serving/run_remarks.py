"""What torch.compile could not do in the newest program of each store."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

from fxls.record import Compilation, Entry, Remark
from fxls.remarks import SourceRemark, merged, remarks_of
from fxls.said_once import SaidOnce
from fxls.serving.ownership import is_installed
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

    def look(self) -> bool:
        """Read what programs recorded since; whether there are other remarks."""
        changed = [root for root in self._known if self._look_at(root)]
        return bool(changed)

    def _look_at(self, root: Path) -> bool:
        known = self._known[root]
        signature = runs_signature(root, known.read)
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
            for one in remarks_of(entries, _is_own)
        )
        before, known.by_path = known.by_path, _by_path(found)
        return before != known.by_path

    def _warn(self, error: StoreError) -> None:
        if self._unread.is_first(str(error.path), str(error)):
            _log.warning("%s", error)


def _read_on(runs: Runs, name: str, before: _Read | None) -> _Read:
    """What there is of a run, behind what was read before."""
    part = runs.read(name, before[0] if before else None)
    kept = tuple(
        one for one in part.entries if isinstance(one.event, Compilation | Remark)
    )
    earlier = () if before is None or part.begins else before[1]
    return part.bookmark, (*earlier, *kept)


def _by_path(found: tuple[SourceRemark, ...]) -> dict[str, tuple[SourceRemark, ...]]:
    paths: dict[str, list[SourceRemark]] = {}
    for one in found:
        if one.place is not None and _is_own(one.place.place.path):
            paths.setdefault(real_path(one.place.place.path), []).append(one)
    return {path: tuple(remarks) for path, remarks in paths.items()}


def _is_own(path: str) -> bool:
    return not is_installed(path)
