"""What a compiler could not do, made of the record of a run: one remark for each place
and reason, however often torch said it.

Values in, values out: nothing here knows torch, an editor or the store.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fxls.listing import Place
from fxls.record import (
    ON_REQUEST,
    Cause,
    Compilation,
    Entry,
    Outcome,
    QuotedPlace,
    Remark,
    Searched,
    Subject,
)
from fxls.record.failed_guards import without_compilation
from fxls.record.pattern_runs import pattern_runs_of
from fxls.repairs import Check

__all__ = [
    "MOST_NAMED",
    "MOST_VALUES",
    "RemarkKind",
    "SourceRemark",
    "at_each_place",
    "merged",
    "remarks_of",
]

_T = TypeVar("_T")

_PAGE = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb{}.html"
_MOST = 5_000
"""So many remarks are made of a record; there are as many as places and reasons."""
MOST_VALUES = 16
"""So many are said; that there are others is known by the next one."""
MOST_NAMED = 16
"""A line names so many compilations, and counts the others."""


class RemarkKind(enum.Enum):
    """How much a remark matters."""

    PROBLEM = "problem"
    """The program runs otherwise than who compiled it will want."""
    COST = "cost"
    """It runs as wanted, at a price."""
    ANALYSIS = "analysis"
    """What the compiler did, for who asks."""


@dataclass(frozen=True, slots=True)
class SourceRemark:
    """What a compiler says of one place in a source."""

    kind: RemarkKind
    subject: Subject
    reason: str
    """As torch says it the first time."""
    place: QuotedPlace | None = None
    """The innermost place that a person can change; None where torch names none."""
    id: str = ""
    """torch's own, as ``GB0059``, where it has one."""
    frames: tuple[QuotedPlace, ...] = ()
    """The innermost place that torch names, and the others that a person can change."""
    hints: tuple[str, ...] = ()
    """What torch advises."""
    compilations: tuple[str, ...] = ()
    """torch's names of those that it happened in."""
    without_graph: tuple[str, ...] = ()
    """Those of them that came to no graph: their function runs as it was written."""
    rest: tuple[str, ...] = ()
    """For a break, the compilations of the rest of the function behind it."""
    about: str = ""
    """For guards that failed, what they are about."""
    values: tuple[str, ...] = ()
    """What that was, in the order in which it was compiled for."""
    nodes: tuple[tuple[str, str], ...] = ()
    """The nodes of graphs that it is about."""
    pattern: QuotedPlace | None = None
    """Where the pattern is written that nearly had a match."""
    of_limit: tuple[int, int] | None = None
    """For a guard that failed, how many compilations the function had then, and how many
    torch allows.
    """
    callers: tuple[QuotedPlace, ...] = ()
    """The frames that called the function; only where that is in no file of a person's."""
    check: Check | None = None
    """For an export that depends on a value, what would tell torch of it."""
    why_no_graph: str = ""
    """Of those `without_graph`, what kept torch from ending one, where it says that."""
    inside: tuple[str, ...] = ()
    """For a break, the compilations of Python's own functions in what broke it that broke
    or were compiled again as well.
    """

    @property
    def page(self) -> str | None:
        """The address of torch's page about its id."""
        return _PAGE.format(self.id[2:]) if self.id[:2] == "GB" else None


def remarks_of(
    entries: Iterable[Entry], is_own: Callable[[str], bool]
) -> tuple[SourceRemark, ...]:
    """The remarks of a record, in the order in which they came up.

    `is_own` tells the files that a person can change from installed ones.
    """
    compilations: dict[str, Compilation] = {}
    said: list[Remark] = []
    searched: list[Searched] = []
    behind = _Continuations()
    for entry in entries:
        if isinstance(entry.event, Compilation):
            compilations[entry.event.id] = entry.event
            behind.compiled(entry.event)
        elif isinstance(entry.event, Remark):
            said.append(entry.event)
            behind.broke(entry.event)
        elif isinstance(entry.event, Searched):
            searched.append(entry.event)
    found: dict[object, _Gathered] = {}
    led_to: dict[Place, _Gathered] = {}
    """By each place on the way to a break, the last one of these."""
    # Of some there are many; they take the room of nothing else.
    for one in sorted(said, key=lambda one: one.subject in ON_REQUEST):
        place = _shown(one.places or one.others, is_own)
        callers: tuple[QuotedPlace, ...] = ()
        if place is not None and not _is_persons(place, is_own):
            callers = tuple(each for each in one.callers if _is_persons(each, is_own))
            place = callers[0] if callers else place
        caller = _caller_of_python(one, callers, is_own)
        broken = led_to.get(caller.place) if caller is not None else None
        if broken is not None:
            broken.inside[one.compilation or ""] = None
            continue
        key = _key(one, place, one.places[0] if callers and one.places else None)
        gathered = found.get(key)
        if gathered is None:
            if len(found) >= _MOST:
                continue
            frames = (*_frames(one, place, is_own), *callers)
            gathered = found[key] = _Gathered(one, place, frames, callers)
        gathered.add(one, behind.of(one))
        if one.subject is Subject.BREAK:
            led_to.update((each.place, gathered) for each in one.places)
    remarks = (one.remark(compilations) for one in found.values())
    return (*remarks, *_searched(searched, is_own))


def merged(found: Iterable[SourceRemark]) -> tuple[SourceRemark, ...]:
    """The remarks of several runs as one: those of a place and reason are one remark."""
    kept: dict[object, SourceRemark] = {}
    for one in found:
        key = _key(one, one.place, one.frames[0] if one.callers else None)
        before = kept.get(key)
        if before is None:
            kept[key] = one
            continue
        kept[key] = replace(
            before,
            compilations=_both(before.compilations, one.compilations),
            without_graph=_both(before.without_graph, one.without_graph),
            why_no_graph=before.why_no_graph or one.why_no_graph,
            rest=_both(before.rest, one.rest),
            inside=_both(before.inside, one.inside),
            values=_both(before.values, one.values),
            nodes=_both(before.nodes, one.nodes)[:MOST_NAMED],
            of_limit=_nearer(before.of_limit, one.of_limit),
        )
    return tuple(kept.values())


def at_each_place(remark: SourceRemark) -> Iterator[SourceRemark]:
    """A remark where it is shown; one about two nodes at each of them."""
    yield remark
    if remark.subject in ON_REQUEST and remark.place is not None:
        for other in remark.frames:
            yield replace(remark, place=other, frames=(remark.place,))


@dataclass(slots=True)
class _Gathered:
    """What torch said several times."""

    first: Remark
    place: QuotedPlace | None
    frames: tuple[QuotedPlace, ...]
    callers: tuple[QuotedPlace, ...]
    compilations: dict[str, None] = field(default_factory=dict[str, None])
    values: dict[str, None] = field(default_factory=dict[str, None])
    nodes: dict[tuple[str, str], None] = field(
        default_factory=dict[tuple[str, str], None]
    )
    rest: list[str] = field(default_factory=list[str])
    why_no_graph: str = ""
    inside: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, one: Remark, rest: Iterable[str]) -> None:
        self.rest += rest
        if one.compilation is not None:
            self.compilations[one.compilation] = None
        for value in filter(None, (one.was, one.became)):
            self.values[value] = None
        for pair in one.nodes.first:
            self.nodes[pair] = None
        self.why_no_graph = self.why_no_graph or one.why_no_graph

    def remark(self, compilations: dict[str, Compilation]) -> SourceRemark:
        first, names = self.first, tuple(self.compilations)
        made = SourceRemark(
            _kind(first),
            first.subject,
            first.reason,
            self.place,
            first.id,
            self.frames,
            first.hints,
            names,
            about=first.about,
            values=tuple(self.values)[: MOST_VALUES + 1],
            nodes=tuple(self.nodes)[:MOST_NAMED],
            pattern=next(
                iter(first.others if first.subject is Subject.PATTERN else ()), None
            ),
            callers=self.callers,
            check=first.check,
        )
        if first.subject is Subject.RECOMPILATION:
            near: tuple[int, int] | None = None
            for name in names:
                one = compilations.get(name)
                near = _nearer(near, one and one.of_limit)
            return replace(made, of_limit=near)
        if first.subject is not Subject.BREAK:
            return made
        without = tuple(
            name
            for name in names
            if name in compilations and compilations[name].outcome is Outcome.SKIPPED
        )
        why = self.why_no_graph if without else ""
        rest = tuple(name for name in self.rest if name not in names)
        return replace(
            made,
            without_graph=without,
            why_no_graph=why,
            rest=rest,
            inside=tuple(self.inside),
        )


def _searched(
    events: Iterable[Searched], is_own: Callable[[str], bool]
) -> Iterator[SourceRemark]:
    """How often each pattern was looked for, at the pattern."""
    for ran in pattern_runs_of(events):
        for one in ran.patterns.values():
            if one.place is not None and _is_persons(one.place, is_own):
                times = f"{one.ran} time{'s' * (one.ran != 1)}"
                matches = f"{one.matched} match{'es' * (one.matched != 1)}"
                said = f"looked for {times}, {matches}"
                if one.name != ran.name:
                    said = f"{said}, by {ran.name}"
                yield SourceRemark(
                    *(RemarkKind.ANALYSIS, Subject.SEARCHED, said, one.place),
                    about=one.name,
                )


class _Continuations:
    """Which compilations are of what is behind which break."""

    def __init__(self) -> None:
        self._broke: dict[tuple[str, int], Remark] = {}
        """By file and line, the last break there."""
        self._rest: dict[int, list[str]] = {}
        self._seen: set[str] = set()

    def broke(self, one: Remark) -> None:
        """A graph ended, if that is what is said."""
        if one.subject is Subject.BREAK and one.places:
            # The rest begins in the compiled function, from which others were called.
            at = one.places[min(one.followed or 1, len(one.places)) - 1].place
            self._broke[at.path, at.span.start.line] = one

    def compiled(self, one: Compilation) -> None:
        """A compilation began, or is over: the rest of a function follows its break."""
        if one.cause is not Cause.CONTINUATION or one.place is None:
            return
        at = one.place.place
        broken = self._broke.get((at.path, at.span.start.line))
        if broken is not None and one.id not in self._seen:
            self._seen.add(one.id)
            self._rest.setdefault(id(broken), []).append(one.id)

    def of(self, one: Remark) -> Iterable[str]:
        """The compilations behind a break."""
        return self._rest.get(id(one), ())


def _key(
    one: Remark | SourceRemark,
    place: QuotedPlace | None,
    innermost: QuotedPlace | None,
) -> object:
    """Equal for what is one remark; of what was called from one place `innermost` tells
    apart where it happened.
    """
    # Each compilation that was there before has the same guard.
    said = one.about or without_compilation(one.reason)
    if one.subject in ON_REQUEST or one.subject is Subject.SEARCHED:
        said = f"{one.about}: {one.reason}"
    at = innermost and innermost.place
    return one.subject, one.id, said, place and place.place, at


def _shown(
    places: tuple[QuotedPlace, ...], is_own: Callable[[str], bool]
) -> QuotedPlace | None:
    own = (place for place in places if _is_persons(place, is_own))
    return next(own, places[0] if places else None)


def _is_persons(place: QuotedPlace, is_own: Callable[[str], bool]) -> bool:
    """Whether a person can change a place; what is in no file nobody can."""
    return not place.place.path.startswith("<") and is_own(place.place.path)


def _caller_of_python(
    one: Remark, callers: tuple[QuotedPlace, ...], is_own: Callable[[str], bool]
) -> QuotedPlace | None:
    """Where the program calls a function of Python's own modules, if it is about one that
    is compiled by itself.

    Nobody changes such a function. It is compiled because a graph broke, and what broke
    it calls the function in Python: one message that is logged comes to a dozen of these
    compilations.
    """
    count = one.followed if one.subject is Subject.BREAK else len(one.places)
    paths = [each.place.path for each in one.places[:count]]
    if one.subject not in _OF_A_FUNCTION or not paths:
        return None
    # The compiled function is the outermost one; it may have called some of torch's.
    parts = re.split(r"[/\\]", paths[-1])
    if any(map(is_own, paths)) or "<" in parts[0] or _PACKAGES.intersection(parts):
        return None
    outer = (each for each in one.places[count:] if _is_persons(each, is_own))
    return next(outer, callers[0] if callers else None)


def _frames(
    one: Remark, place: QuotedPlace | None, is_own: Callable[[str], bool]
) -> tuple[QuotedPlace, ...]:
    if one.subject in ON_REQUEST:
        other = _shown(one.others, is_own)
        return () if other is None or other == place else (other,)
    return (
        *one.places[:1],
        *(frame for frame in one.places[1:] if is_own(frame.place.path)),
    )


def _both(some: tuple[_T, ...], others: tuple[_T, ...]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys((*some, *others)))


def _nearer(
    one: tuple[int, int] | None, other: tuple[int, int] | None
) -> tuple[int, int] | None:
    """Of two counts that have a limit, the one that is nearer to it."""
    known = [each for each in (one, other) if each is not None]
    return min(known, key=lambda each: each[1] - each[0], default=None)


def _kind(one: Remark) -> RemarkKind:
    # A function in which nothing is to be compiled is none that could not be.
    if one.subject is Subject.SKIPPED and not one.id and not one.hints:
        return RemarkKind.ANALYSIS
    return _KINDS.get(one.subject, RemarkKind.ANALYSIS)


_PACKAGES = frozenset({"site-packages", "dist-packages"})
_OF_A_FUNCTION = frozenset(
    {Subject.BREAK, Subject.RECOMPILATION, Subject.LIMIT, Subject.SKIPPED}
)


_KINDS = {
    Subject.BREAK: RemarkKind.PROBLEM,
    Subject.RECOMPILATION: RemarkKind.PROBLEM,
    Subject.LIMIT: RemarkKind.PROBLEM,
    Subject.SKIPPED: RemarkKind.PROBLEM,
    Subject.ERROR: RemarkKind.PROBLEM,
    Subject.NUMBERS: RemarkKind.PROBLEM,
    Subject.CUDA_GRAPH: RemarkKind.COST,
    Subject.COST: RemarkKind.COST,
}
