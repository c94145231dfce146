"""What the newest `fxls compare` of a graph said of the values at a stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fxls.attempt import Raised, attempt
from fxls.listing import Identity, Listing
from fxls.record import Judged, RevisionName
from fxls.record.judged_wording import sides_text
from fxls.record.node_errors import JudgedGraph, captured, node_errors
from fxls.runtime.debugging import pydevd
from fxls.store import Store, StoreError
from fxls.store.runs import Runs

__all__ = ["MOST_WAITING", "Compared"]

MOST_WAITING = 0.05
"""So many seconds a stop waits for it."""
_MOST_RUNS = 8
"""So many runs of a store are looked through, the newest."""
_NOT_KEPT = (
    "not kept, if it was judged: of {1:,} values the {0:,} furthest off are; `fxls compare`"
    " of a part of the program keeps more of them"
)


class Compared:
    """What was judged of the graphs of a store, read once when somebody asks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs = Runs(store.root, _unsaid)
        self._judged: dict[str, Mapping[Identity, Sequence[Judged]]] = {}
        """Of each run that was looked through, by captured graph."""
        self._last: tuple[RevisionName, Listing] | None = None
        """The graph that was read last: several steps may be judged in one."""
        self._reading = threading.Lock()

    def soon(self, path: Path, listing: Listing) -> Callable[[], Mapping[str, str]]:
        """What gives the same as `of`, and nothing until that is read: a stop waits for it
        no longer than `MOST_WAITING`.
        """
        found: list[Mapping[str, str]] = []
        thread = threading.Thread(
            target=lambda: found.append(self.of(path, listing)),
            name="fxls compared",
            daemon=True,
        )
        pydevd.let_run(thread)
        thread.start()
        thread.join(MOST_WAITING)
        return lambda: found[0] if found else {}

    def of(self, path: Path, listing: Listing) -> Mapping[str, str]:
        """By the names of a listing, how far its values were off, and what both sides are
        where they differ most; of several, that which is furthest off.
        """
        with self._reading:
            found = attempt(lambda: self._of(path, listing))
            self._last = None  # it may be large
        return {} if isinstance(found, Raised) else found

    def _of(self, path: Path, listing: Listing) -> Mapping[str, str]:
        of_graph = self._newest(captured(listing.identity))
        errors = node_errors(
            path.name, listing, self._graphs(path, of_graph), with_buffers=True
        )
        said = {
            listing.nodes[node].name: sides_text(error.value, error.step, error.stage)
            for node, error in errors.items()
        }
        for judged in of_graph:
            if path.name == judged.revision.text and judged.count > len(judged.values):
                text = _NOT_KEPT.format(len(judged.values), judged.count)
                for facts in listing.nodes:
                    said.setdefault(facts.name, text)
        return said

    def _graphs(self, path: Path, of_graph: Iterable[Judged]) -> Iterator[JudgedGraph]:
        """What was judged of the compilations that a listing is of."""
        for judged in of_graph:
            if path.name in (judged.revision.text, *judged.listings):
                with suppress(StoreError):
                    yield JudgedGraph(self._read(judged.revision), judged)

    def _read(self, revision: RevisionName) -> Listing:
        if self._last is None or self._last[0] != revision:
            self._last = revision, self._store.read_named(revision)
        return self._last[1]

    def _newest(self, graph: Identity) -> Sequence[Judged]:
        """What the newest run says that judged a graph."""
        for run in self._runs.ids()[:_MOST_RUNS]:
            if run not in self._judged:
                self._judged[run] = self._in_run(run)
            if graph in self._judged[run]:
                return self._judged[run][graph]
        return ()

    def _in_run(self, run: str) -> Mapping[Identity, Sequence[Judged]]:
        found: dict[Identity, list[Judged]] = {}
        with suppress(StoreError):
            for one in self._runs.judged(run):
                found.setdefault(captured(one.revision.identity), []).append(one)
        return found


def _unsaid(_error: StoreError) -> None:
    """What cannot be read is said where somebody asks for runs."""
