"""The records of runs, as far as listings are asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fxls.ide.listing.recorded import Recorded, where_of
from fxls.listing import Identity
from fxls.record import Entry, Made, Pass, RevisionName
from fxls.record.pass_facts import with_facts
from fxls.serving.kept_records import KeptRecords
from fxls.store import Revision, Store, StoreError
from fxls.store.runs import started_at

__all__ = ["Placed", "RunRecords"]

_KEPT = 2
"""So many records stay in memory."""
_MOST = 4
"""So many runs are asked which of their passes made the revisions of an identity."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A revision that a pass left, or was given."""

    order: tuple[str, int]
    """The run, and when in it."""
    ran: Pass | None
    """The pass that left it."""


class RunRecords:
    """Reads of each record what is new, and of no record that nobody asks about.

    Which run made a revision is said by the log of its identity: the log knows the
    process, and so does the name of a record.
    """

    def __init__(self, report: Callable[[StoreError], None]) -> None:
        self._records = KeptRecords(report, {}, _graph_event, _KEPT)
        self._sizes: dict[Path, Mapping[str, int]] = {}

    def news(self, root: Path, now: Mapping[str, int]) -> tuple[str, ...]:
        """The runs of a store that are new, or say more, since this was last asked; none
        at the first time. `now` is how long each record is.
        """
        before = self._sizes.get(root)
        self._sizes[root] = now
        if before is None:
            return ()
        return tuple(
            sorted(run for run, size in now.items() if before.get(run) != size)
        )

    def of(self, store: Store, identity: Identity, text: str) -> Recorded | None:
        """What is recorded of a listing, by the name of its file."""
        for revision in reversed(store.revisions(identity)):
            if revision.path.name == text:
                for run in self._runs_of(store.root, revision):
                    events = self._records.of(store.root, run)
                    found = _recorded(run, events, revision)
                    if found is not None:
                        return replace(found, step=_with_facts(found.step, events))
        return None

    def others(
        self, store: Store, identity: Identity, text: str
    ) -> tuple[tuple[str, RevisionName], ...]:
        """What else the run wrote that made a listing last: by compilation, the latest
        first, the same text with other facts.
        """
        for revision in reversed(store.revisions(identity)):
            if revision.path.name == text:
                for run in self._runs_of(store.root, revision):
                    made = _made(revision, self._records.of(store.root, run))
                    if made:
                        made.pop(revision.facts, None)
                        return tuple(
                            (of, RevisionName(identity, text, facts))
                            for facts, of in reversed(made.items())
                            if of
                        )[:_MOST]
        return ()

    def made(self, store: Store, revisions: Iterable[Revision]) -> Mapping[str, Placed]:
        """By the name of the text, what the latest records say of these revisions."""
        found: dict[str, Placed] = {}
        asked: set[str] = set()
        for revision in revisions:
            for run in self._runs_of(store.root, revision):
                if run in asked or len(asked) >= _MOST:
                    continue
                asked.add(run)
                placed: dict[str, Placed] = {}
                for at, event in enumerate(self._records.of(store.root, run)):
                    if isinstance(event, Pass) and event.changed:
                        if event.before and event.before.text not in placed:
                            placed[event.before.text] = Placed((run, 2 * at), None)
                        if event.after:
                            placed[event.after.text] = Placed((run, 2 * at + 1), event)
                found = placed | found
        return found

    def _runs_of(self, root: Path, revision: Revision) -> list[str]:
        """The runs that may have made a revision: of its process, the latest before it."""
        # On two machines there may be two processes with its number.
        return [
            run
            for run in self._records.ids(root)
            if run.rsplit("-", 2)[1] == str(revision.pid)
            and started_at(run) <= revision.time
        ][:2]


def _graph_event(entry: Entry) -> Pass | Made | None:
    return entry.event if isinstance(entry.event, Pass | Made) else None


def _recorded(
    run: str, events: Sequence[Pass | Made], revision: Revision
) -> Recorded | None:
    """What the events of a run say of a revision; None when they do not name it."""
    text = revision.path.name
    for at in range(len(events) - 1, -1, -1):
        match events[at]:
            case Pass(after=after, changed=True) as ran if _is(after, text):
                # A pass that ended with it may only have run the one that made it.
                step = _step(ran, events)
                made = next(one for one in step if one.changed and _is(one.after, text))
                return Recorded(run, step, step.index(made) + 1)
            case Pass(before=before) as ran if _is(before, text):
                return Recorded(run, _step(ran, events))
            case Made(revision=one) if (one.text, one.identity) == (
                text,
                revision.identity,
            ):
                # Listings are noted when they are written, which may be later.
                last = _last_of(revision.identity, events)
                return None if last is None else Recorded(run, _step(last, events))
            case _:
                pass
    return None


def _made(revision: Revision, events: Sequence[Pass | Made]) -> dict[str, str]:
    """The facts that a run wrote of a text, the last first, and a compilation of each."""
    of = (revision.identity, revision.path.name)
    last: dict[str, str] = {}
    for one in events:
        if isinstance(one, Made) and (one.revision.identity, one.revision.text) == of:
            last.pop(one.compilation or "", None)
            last[one.compilation or ""] = one.revision.facts
    return {facts: name for name, facts in last.items()}


def _with_facts(
    step: tuple[Pass, ...], events: Sequence[Pass | Made]
) -> tuple[Pass, ...]:
    """Passes that name the facts which their run wrote of the graphs between them."""
    texts = {one.text for ran in step for one in (ran.before, ran.after) if one}
    made = [
        one for one in events if isinstance(one, Made) and one.revision.text in texts
    ]
    named = with_facts((*made, *step))
    return tuple(one for one in named if isinstance(one, Pass))


def _is(name: RevisionName | None, text: str) -> bool:
    return name is not None and name.text == text


def _last_of(identity: Identity, events: Sequence[Pass | Made]) -> Pass | None:
    for event in reversed(events):
        if isinstance(event, Pass):
            name = event.after or event.before
            if name is not None and name.identity == identity:
                return event
    return None


def _step(ran: Pass, events: Sequence[Pass | Made]) -> tuple[Pass, ...]:
    """The passes that were given the same graph, in the same step as this one."""
    key = (where_of(ran), ran.producer, ran.subgraph)
    return tuple(
        one
        for one in events
        if isinstance(one, Pass) and (where_of(one), one.producer, one.subgraph) == key
    )
