"""What a run did at a glance: its compilations in torch's order, each with what went wrong
in it, the passes that changed a graph of it, and its guards; and the time by phase.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fxls.listing import KERNELS, Identity
from fxls.record import (
    ON_REQUEST,
    Cause,
    Compilation,
    Event,
    Guards,
    Made,
    Outcome,
    Pass,
    Remark,
    RevisionName,
    Spent,
    Subject,
)
from fxls.record.pattern_runs import PatternRuns, pattern_runs_of

__all__ = [
    "SUBJECTS",
    "Compiled",
    "RunOverview",
    "code_of",
    "compilations_of",
    "guards_of",
    "overview_of",
    "remarks_of",
]

SUBJECTS = {
    Subject.BREAK: "graph break",
    Subject.RECOMPILATION: "guard failed",
    Subject.LIMIT: "limit reached",
    Subject.SKIPPED: "skipped",
    Subject.ERROR: "error",
    Subject.SPECIALIZED: "size fixed",
    Subject.CUDA_GRAPH: "no CUDA graph",
    Subject.COST: "cost",
    Subject.NUMBERS: "wrong numbers",
}
"""How remarks begin."""

_MANY = 3
"""So many recompilations of a frame are one row."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compilation, and what is said of it."""

    compilation: Compilation
    remarks: tuple[Remark, ...]
    changes: tuple[Pass, ...]
    """The passes that changed a graph, as they ran."""
    guards: Guards | None
    code: tuple[RevisionName, ...] = ()
    """What inductor wrote in it, each once."""

    @property
    def is_plain_recompilation(self) -> bool:
        """Whether it is one that ended as it should."""
        one = self.compilation
        return one.cause is Cause.RECOMPILATION and one.outcome is Outcome.OK


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run."""

    compiled: tuple[Compiled, ...]
    """In the order in which they began."""
    phases: tuple[tuple[str, float], ...]
    """The seconds of each phase, the longest first; phases lie in one another."""
    remarks: tuple[Remark, ...]
    """Those of no compilation."""
    searches: tuple[PatternRuns, ...]
    """The passes that looked for patterns of the program."""
    code: tuple[RevisionName, ...]
    """What inductor wrote, and what was measured of it, each once; without what stands
    at its compilation.
    """

    def rows(self, *, is_whole: bool = False) -> Iterator[tuple[Compiled, ...]]:
        """The compilations in torch's order, those of one frame together; many
        recompilations of a frame in one row, unless each is to have its own.
        """
        frames: dict[str, list[Compiled]] = {}
        for one in self.compiled:
            frame, _, which = one.compilation.id.partition("/")
            # Behind torch.compiler.reset() there is another frame of this name.
            frames.setdefault(frame + which.partition(" ")[2], []).append(one)
        for of_frame in frames.values():
            again = tuple(one for one in of_frame if one.is_plain_recompilation)
            is_one_row = len(again) >= _MANY and not is_whole
            for one in of_frame:
                if not (is_one_row and one.is_plain_recompilation):
                    yield (one,)
                elif one is again[0]:
                    yield again


def overview_of(events: Iterable[Event]) -> RunOverview:
    """What the events of a run say, in their order."""
    events = [*events]
    compilations = compilations_of(events)
    known = {one.id for one in compilations}
    remarks: dict[str, list[Remark]] = defaultdict(list)
    others: list[Remark] = []
    for remark in remarks_of(events):
        if remark.compilation in known:
            remarks[remark.compilation].append(remark)
        else:
            others.append(remark)
    changes: dict[str | None, list[Pass]] = defaultdict(list)
    for one in _those(Pass, events):
        if one.changed:
            changes[one.compilation].append(one)
    guards = {one.compilation: one for one in guards_of(events)}
    code: dict[str, list[RevisionName]] = defaultdict(list)
    other_code: list[RevisionName] = []
    for name, ids in code_of(events).items():
        for of in (own := [one for one in ids if one in known]):
            code[of].append(name)
        other_code += [] if own else [name]
    return RunOverview(
        tuple(
            Compiled(
                one,
                tuple(remarks.get(one.id, ())),
                tuple(changes.get(one.id, ())),
                guards.get(one.id),
                tuple(code.get(one.id, ())),
            )
            for one in compilations
        ),
        _phases(compilations),
        tuple(others),
        tuple(one for one in pattern_runs_of(events) if one.patterns),
        tuple(other_code),
    )


def compilations_of(events: Iterable[Event]) -> tuple[Compilation, ...]:
    """The compilations, in the order in which they began."""
    return tuple({one.id: one for one in _those(Compilation, events)}.values())


def remarks_of(events: Iterable[Event]) -> tuple[Remark, ...]:
    """The remarks, in their order, without those that are said on request."""
    return tuple(one for one in _those(Remark, events) if one.subject not in ON_REQUEST)


def guards_of(events: Iterable[Event]) -> tuple[Guards, ...]:
    """The guards of each compilation, as it had them last."""
    return tuple({one.compilation: one for one in _those(Guards, events)}.values())


def _phases(compilations: Iterable[Compilation]) -> tuple[tuple[str, float], ...]:
    spent: dict[str, float] = {}
    for one in compilations:
        for name, seconds in one.phases:
            spent[name] = spent.get(name, 0.0) + seconds
    return tuple(sorted(spent.items(), key=lambda pair: -pair[1]))


def code_of(events: Iterable[Event]) -> dict[RevisionName, tuple[str, ...]]:
    """The listings of code that the run made, each as it made it last, with the
    compilations that made it; and those that it measured, which a run before it may have
    made.
    """
    found: dict[tuple[Identity, str], RevisionName] = {}
    made_by: dict[tuple[Identity, str], dict[str, None]] = defaultdict(dict)
    for one in events:
        if isinstance(one, Spent):
            name = one.revision
            found.setdefault((name.identity, name.text), name)
        elif isinstance(one, Made):
            name = one.revision
            if name.identity.stage.rpartition(", ")[2] == KERNELS:
                found[name.identity, name.text] = name
                if one.compilation is not None:
                    made_by[name.identity, name.text][one.compilation] = None
    return {name: tuple(made_by.get(key, ())) for key, name in found.items()}


def _those(kind: type[_T], events: Iterable[Event]) -> Iterator[_T]:
    return (one for one in events if isinstance(one, kind))
