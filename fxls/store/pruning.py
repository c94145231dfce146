"""Keeping a store small: what nobody wanted for long is deleted.

A listing that was wanted within the last day always stays, because somebody may have
a breakpoint in it.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from fxls.store import files
from fxls.store.log import revisions_in
from fxls.store.names import is_file_name

__all__ = ["Pruned", "delete_listing", "prune", "prune_seldom"]

DAYS = 30.0
"""How long a listing stays that nobody wants."""
MEGABYTES = 256.0
"""How large a store may be, as far as deleting listings of another day can help."""

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

    def __str__(self) -> str:
        freed, left = self.freed / 1e6, self.left / 1e6
        return f"{len(self.deleted)} deleted, {freed:.1f} MB; {left:.1f} MB stay"


@dataclass(frozen=True, slots=True)
class _Listing:
    name: str
    wanted: float
    """When it was last materialized, in seconds since 1970."""
    size: int


def prune(
    root: Path,
    *,
    days: float = DAYS,
    megabytes: float = MEGABYTES,
    now: float | None = None,
) -> Pruned:
    """Delete listings older than `days`, and the oldest ones beyond `megabytes`.

    A program that writes one of them at that moment writes all of it again. Raises
    `Unreadable` or `Unwritable`.
    """
    now = time.time() if now is None else now
    listings = sorted(_listings(root), key=lambda one: one.wanted)
    left = sum(one.size for one in listings)
    total = left
    deleted: list[str] = []
    for one in listings:
        age = now - one.wanted
        if age < _DAY or (age < days * _DAY and left <= megabytes * 1e6):
            continue
        delete_listing(root, one.name)
        deleted.append(one.name)
        left -= one.size
    _delete_torn(root, now)
    _delete_empty(root, now - days * _DAY)
    return Pruned(tuple(deleted), total - left, left)


def prune_seldom(root: Path) -> Pruned | None:
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
    return prune(root)


def delete_listing(root: Path, name: str) -> None:
    """Delete the text of this name and its facts; raises `Unwritable`.

    The text goes first, so that there is never a text without facts.
    """
    folder = _facts(root, name)
    files.delete(root / name)
    for facts in files.names_in(folder):
        files.delete(folder / facts)
    # Somebody may have written facts again in between: then they stay.
    with contextlib.suppress(OSError):
        folder.rmdir()


def _listings(root: Path) -> list[_Listing]:
    found: list[_Listing] = []
    for name, text in files.signatures_in(root).items():
        if is_file_name(name):
            facts = files.signatures_in(_facts(root, name)).values()
            wanted = max([text.modified, *(one.modified for one in facts)]) / 1e9
            size = text.size + sum(one.size for one in facts)
            found.append(_Listing(name, wanted, size))
    return found


def _delete_torn(root: Path, now: float) -> None:
    """Half-written files, which a kill left a day ago or longer."""
    folder = root / files.TEMPORARY
    for name, one in files.signatures_in(folder).items():
        if now - one.modified / 1e9 > _DAY:
            with contextlib.suppress(OSError):
                (folder / name).unlink()


def _delete_empty(root: Path, before: float) -> None:
    """Logs that were last written before some time, and all of whose texts are gone."""
    texts = set(files.names_in(root))
    for name, one in files.signatures_in(root / "log").items():
        if one.modified / 1e9 < before:
            path = root / "log" / name
            log = files.read(path) or b""
            if not any(line.path.name in texts for line in revisions_in(root, log)):
                files.delete(path)


def _facts(root: Path, name: str) -> Path:
    return root / "facts" / name.removesuffix(".py")
