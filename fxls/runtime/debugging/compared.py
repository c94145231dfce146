"""What the newest `fxls compare` of a graph said of the values at a stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fxls.attempt import Raised, attempt
from fxls.listing import Identity, Listing
from fxls.record import Judged
from fxls.record.judged_wording import sides_text
from fxls.record.node_errors import JudgedGraph, captured, node_errors
from fxls.store import Store, StoreError
from fxls.store.runs import Runs

__all__ = ["Compared"]

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
        self._known: Mapping[Identity, Sequence[Judged]] | None = None

    def of(self, path: Path, listing: Listing) -> Mapping[str, str]:
        """By the names of a listing, how far its values were off, and what both sides are
        where they differ most; of several, that which is furthest off.
        """
        found = attempt(lambda: self._of(path, listing))
        return {} if isinstance(found, Raised) else found

    def _of(self, path: Path, listing: Listing) -> Mapping[str, str]:
        if self._known is None:
            self._known = self._read()
        of_graph = self._known.get(captured(listing.identity), ())
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
                    yield JudgedGraph(self._store.read_named(judged.revision), judged)

    def _read(self) -> Mapping[Identity, Sequence[Judged]]:
        found: dict[Identity, list[Judged]] = {}
        runs = Runs(self._store.root, _unsaid)
        for run in runs.ids()[:_MOST_RUNS]:
            of_run: dict[Identity, list[Judged]] = {}
            try:
                entries = runs.read(run).entries
            except StoreError:
                continue
            for entry in entries:
                if isinstance(entry.event, Judged):
                    graph = captured(entry.event.revision.identity)
                    of_run.setdefault(graph, []).append(entry.event)
            found = {**of_run, **found}
        return found


def _unsaid(_error: StoreError) -> None:
    """What cannot be read is said where somebody asks for runs."""
