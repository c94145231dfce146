"""What a store holds of each identity, without opening a listing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fxls.listing import Identity
from fxls.store.log import Revision
from fxls.store.store import Store

__all__ = ["History", "histories", "newest_of", "taken_place_of"]


@dataclass(frozen=True, slots=True)
class History:
    """An identity and the revisions that are there, the newest first."""

    identity: Identity
    revisions: tuple[Revision, ...]

    @property
    def newest(self) -> Revision:
        return self.revisions[0]


def histories(store: Store) -> Iterator[History]:
    """Every identity that has a revision, by name, and passes in their order.

    Costs a look at each log and one at the folder, however many revisions there are.
    """
    there = _names_in(store.root)
    logs: dict[Identity, dict[Path, Revision]] = {}
    for revision in store.changes_since(None).revisions:
        if revision.path.name in there:
            found = logs.setdefault(revision.identity, {})
            # A text that came back is as new as that.
            found.pop(revision.path, None)
            found[revision.path] = revision
    made = [
        History(one, tuple(reversed(found.values()))) for one, found in logs.items()
    ]
    yield from sorted(made, key=_place)


def newest_of(store: Store, identity: Identity, entry: str | None) -> Revision | None:
    """The newest revision that the same entry made.

    Entries with other arguments make other listings of one identity, which are no
    revisions of each other.
    """
    latest = store.latest(identity)
    return next((revision for revision in latest if revision.entry == entry), None)


def taken_place_of(store: Store, revision: Revision) -> Revision | None:
    """The revision of the same entry that this one took the place of."""
    found = [r for r in store.revisions(revision.identity) if r.entry == revision.entry]
    paths = [r.path for r in found]
    if revision.path not in paths:
        return None
    at = len(paths) - 1 - paths[::-1].index(revision.path)
    return found[at - 1] if at and found[at - 1].path != revision.path else None


def _place(history: History) -> tuple[str, str, str, int, float]:
    identity = history.identity
    rank = -1 if identity.rank is None else identity.rank
    # The graph as it was captured stands before what passes made of it.
    when = history.newest.time if identity.stage else 0.0
    return identity.module, identity.qualname, identity.producer, rank, when


def _names_in(root: Path) -> set[str]:
    try:
        return {*os.listdir(root)}  # noqa: PTH208  # a thousand paths take longer
    except OSError:
        return set()
