"""What the newest `fxls compare` of a graph said of the values at a stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from fxls.attempt import Raised, attempt
from fxls.listing import KERNELS, Identity, Listing
from fxls.record import Judged, JudgedValue
from fxls.record.judged_wording import sides_text
from fxls.record.kernel_times import CALL
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
        worst: dict[str, tuple[float, str]] = {}
        for judged in self._known.get(_captured(listing.identity), ()):
            for value in judged.values:
                for name in self._names(path, listing, judged, value):
                    if name not in worst or value.share > worst[name][0]:
                        stage = judged.revision.identity.stage
                        text = sides_text(value, judged.step, stage)
                        worst[name] = value.share, text
            if path.name == judged.revision.text and judged.count > len(judged.values):
                text = _NOT_KEPT.format(len(judged.values), judged.count)
                for facts in listing.nodes:
                    worst.setdefault(facts.name, (-1.0, text))
        return {name: text for name, (_, text) in worst.items()}

    def _names(
        self, path: Path, listing: Listing, judged: Judged, value: JudgedValue
    ) -> Iterator[str]:
        """Which names of a listing have a value that was judged."""
        is_same = path.name == judged.revision.text
        if not is_same and path.name not in judged.listings:
            return
        is_code = listing.identity.steps[-1:] == (KERNELS,)
        stages = judged.revision.identity.steps[:-1]
        if is_code and listing.identity.steps[:-1] != stages:
            return
        for facts in listing.nodes:
            is_made = is_code and facts.opcode in (CALL, "buffer")
            made = facts.made_from if is_made else ()
            if value.node in made or (is_same and facts.name == value.node):
                yield facts.name

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
                    graph = _captured(entry.event.revision.identity)
                    of_run.setdefault(graph, []).append(entry.event)
            found = {**of_run, **found}
        return found


def _captured(identity: Identity) -> Identity:
    """That of the captured graph, of which all others are stages."""
    return structs.replace(identity, stage=identity.graph)


def _unsaid(_error: StoreError) -> None:
    """What cannot be read is said where somebody asks for runs."""
