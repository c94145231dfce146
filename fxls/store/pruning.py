"""Keeping a store small: what nobody wanted for long is deleted.

A listing that was wanted within the last day stays, because somebody may have a
breakpoint in it. When a store has become too large, those of today go as well that
another revision took the place of, that nobody looked at, and whose code does not run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fxls.counted import counted
from fxls.listing import Identity
from fxls.machine import is_alive
from fxls.store import files
from fxls.store.log import MOST, revisions_in
from fxls.store.names import is_file_name, table_path
from fxls.store.run_pruning import named_by_living, prune_runs

__all__ = [
    "MEGABYTES",
    "Pruned",
    "delete_listing",
    "look",
    "prune",
    "prune_seldom",
    "wanted_since",
]

DAYS = 30.0
"""How long a listing stays that nobody wants."""
MEGABYTES = 256.0
"""How large a store may be, as far as deleting what may go can help."""

_DAY = 86400.0

_STAMP = "pruned"
"""The file whose date says when a store was last pruned without being asked to."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted, oldest first, and what is left."""

    deleted: tuple[str, ...]
    """The names of the texts."""
    freed: int
    """Bytes of them and their facts."""
    left: int
    """Bytes of the listings that stay."""
    runs: tuple[str, ...] = ()
    """The runs whose records were deleted."""

    def said(self, *, would: bool = False) -> str:
        """In words; `would` be, after a rehearsal."""
        freed, left = self.freed / 1e6, self.left / 1e6
        deleted = "would be deleted" if would else "deleted"
        runs = f" and {counted(len(self.runs), 'run')}" if self.runs else ""
        return (
            f"{len(self.deleted)}{runs} {deleted}, {freed:.1f} MB; {left:.1f} MB stay"
        )


@dataclass(frozen=True, slots=True)
class _Listing:
    name: str
    wanted: float
    """When it was last materialized, or looked at, in seconds since 1970."""
    size: int


def prune(
    root: Path,
    *,
    days: float = DAYS,
    megabytes: float = MEGABYTES,
    in_use: Iterable[Path] = (),
    is_all: bool = False,
    is_rehearsal: bool = False,
    now: float | None = None,
) -> Pruned:
    """Delete listings older than `days`, and others for as long as there are more than
    `megabytes`: first what nobody needs, then what is of another day, the oldest first.

    - What this process has `in_use` stays, and what a process that runs wrote last.
    - So does what the record of a process that runs names.
    - With `is_all` nothing else stays; in a rehearsal all does.
    - Records of runs go by the same age.
    - A program that writes one of them at that moment writes all of it again.

    Raises `Unreadable` or `Unwritable`.
    """
    now = time.time() if now is None else now
    listings = sorted(_listings(root), key=lambda one: one.wanted)
    left = total = sum(one.size for one in listings)
    needs = _Needs(root, {path.name for path in in_use})
    bound = megabytes * 1e6
    if is_all:
        going = [one for one in listings if not needs.runs(one.name)]
    else:
        may_go = [one for one in listings if not needs.is_recorded(one.name)]
        old = [one for one in may_go if now - one.wanted >= max(days * _DAY, _DAY)]
        left -= sum(one.size for one in old)
        going = [*old, *_beyond(bound, left, may_go, set(old), needs, now)]
    if not is_rehearsal:
        for one in going:
            delete_listing(root, one.name)
        # A kill left them.
        files.delete_torn(root, now - _DAY)
        _delete_empty(root, now if is_all else now - days * _DAY)
    runs = prune_runs(
        root, days=days, now=now, is_all=is_all, is_rehearsal=is_rehearsal
    )
    freed = sum(one.size for one in going)
    return Pruned(tuple(one.name for one in going), freed, total - freed, runs)


def _beyond(
    bound: float,
    left: int,
    listings: Iterable[_Listing],
    gone: set[_Listing],
    needs: _Needs,
    now: float,
) -> Iterator[_Listing]:
    """What goes of the listings besides those that are `gone`, so that the ones that
    are `left` are within the bound, as far as they may go.
    """
    if left <= bound:
        return
    rest = [one for one in listings if one not in gone]
    unneeded = [one for one in rest if needs.nobody(one, now)]
    others = set(unneeded)
    older = [one for one in rest if one not in others and now - one.wanted >= _DAY]
    for one in (*unneeded, *older):
        if left <= bound:
            return
        left -= one.size
        yield one


class _Needs:
    """Who may need the listings of a store, as far as its logs tell."""

    def __init__(self, root: Path, in_use: set[str]) -> None:
        self._in_use = in_use
        self._recorded = named_by_living(root)
        self._newest: dict[tuple[Identity, str | None], str] = {}
        self._noted: dict[str, float] = {}
        """By the name of a text, when a log named it last."""
        self._writers: dict[str, set[int]] = {}
        self._alive: dict[int, bool] = {os.getpid(): False}
        """Of this process, all that runs is in use."""
        texts = set(files.names_in(root, root))
        for name in files.names_in(root, root / "log"):
            log = files.read_end(root, root / "log" / name, MOST)[1]
            for line in revisions_in(root, log):
                text = line.path.name
                if text in texts:
                    self._newest[line.identity, line.entry] = text
                    self._noted[text] = max(line.time, self._noted.get(text, 0.0))
                    self._writers.setdefault(text, set()).add(line.pid)
        self._are_newest = set(self._newest.values())

    def runs(self, name: str) -> bool:
        """Whether code of a text may run: a process that wrote it is there."""
        writers = self._writers.get(name, ())
        used = name in self._in_use or self.is_recorded(name)
        return used or any(map(self._is_alive, writers))

    def is_recorded(self, name: str) -> bool:
        """Whether the record of a process that is there names a text."""
        return name in self._recorded

    def nobody(self, one: _Listing, now: float) -> bool:
        """Whether there is a newer revision, nothing runs, and nobody took a look."""
        noted = self._noted.get(one.name)
        return (
            noted is not None  # else its facts are still to come
            and one.name not in self._are_newest
            and (one.wanted <= noted or now - one.wanted >= _DAY)
            and not self.runs(one.name)
        )

    def _is_alive(self, pid: int) -> bool:
        if pid not in self._alive:
            self._alive[pid] = is_alive(pid)
        return self._alive[pid]


def wanted_since(root: Path, start: float) -> tuple[str, ...]:
    """The listings that were made, or looked at, since some time in seconds since 1970.

    Raises `Unreadable`.
    """
    return tuple(one.name for one in _listings(root) if one.wanted >= start)


def look(root: Path, name: str) -> None:
    """Take note that somebody looks at a listing, and may set a breakpoint in it."""
    # In a store that may only be read nobody deletes anything.
    files.touch_folder(root, _facts(root, name))


def prune_seldom(root: Path, in_use: Iterable[Path] = ()) -> Pruned | None:
    """`prune`, unless the store is not there, or somebody did it within the last day.

    Where it is not to be done, that costs one look at a file. Raises as `prune` does.
    """
    stamp = root / files.TEMPORARY / _STAMP
    last = files.sign(stamp)
    # Not when the date is in the future either: the clock was set back since.
    if last is not None and 0 <= time.time() - last.modified / 1e9 < _DAY:
        return None
    if not files.is_there(root):
        return None
    files.write(root, stamp, b"")
    return prune(root, in_use=in_use)


def delete_listing(root: Path, name: str) -> None:
    """Delete the text of this name and its facts; raises `Unwritable`.

    The text goes first, so that there is never a text without facts.
    """
    folder = _facts(root, name)
    files.delete(root, root / name)
    for facts in files.names_in(root, folder):
        files.delete(root, folder / facts)
    # Somebody may have written facts again in between: then they stay.
    files.delete_folder(root, folder)
    files.delete(root, table_path(root, name))


def _listings(root: Path) -> list[_Listing]:
    found: list[_Listing] = []
    for name, text in files.signatures_in(root, root).items():
        if is_file_name(name):
            facts = files.signatures_in(root, _facts(root, name)).values()
            # The folder is touched by whoever looks.
            folder = files.sign(_facts(root, name))
            dated = (text, *facts, *filter(None, (folder,)))
            wanted = max(one.modified for one in dated) / 1e9
            size = text.size + sum(one.size for one in facts)
            found.append(_Listing(name, wanted, size))
    return found


def _delete_empty(root: Path, before: float) -> None:
    """Logs that were last written before some time, and all of whose texts are gone."""
    texts = set(files.names_in(root, root))
    for name, one in files.signatures_in(root, root / "log").items():
        if one.modified / 1e9 < before:
            path = root / "log" / name
            log = files.read_end(root, path, MOST)[1]
            if not any(line.path.name in texts for line in revisions_in(root, log)):
                files.delete(root, path)


def _facts(root: Path, name: str) -> Path:
    return root / "facts" / name.removesuffix(".py")
