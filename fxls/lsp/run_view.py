"""Runs as a view of them wants them, as `docs/protocol.md` describes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fxls.ide.listing.recorded import change_of
from fxls.lsp.client import Client, Lines
from fxls.lsp.graph_view import PlaceItem, place_item
from fxls.lsp.item import Item
from fxls.record import Pass, QuotedPlace, Remark, RevisionName, Run
from fxls.record.run_overview import SUBJECTS, Compiled, RunOverview
from fxls.record.run_summary import State, Summary

__all__ = [
    "ChangeItem",
    "CodeItem",
    "CompilationItem",
    "OverviewItem",
    "PatternItem",
    "PhaseItem",
    "RankItem",
    "RemarkItem",
    "RunItem",
    "overview_item",
    "run_item",
]

_MOST = 2_000
"""So many compilations are sent, so many passes of each, and so many remarks."""

_Uri = Callable[[str], str | None]
_Document = Callable[[str], str]


class RunItem(Item, frozen=True):
    """A run in a list."""

    id: str
    state: str
    start: float
    """In seconds since 1970."""
    seconds: float = 0.0
    """Of all compilations."""
    program: str | None = None
    arguments: tuple[str, ...] = ()
    rank: int | None = None
    raised: str | None = None
    compilations: int = 0
    recompilations: int = 0
    breaks: int = 0
    skipped: int = 0
    limits: int = 0
    errors: int = 0


class PhaseItem(Item, frozen=True):
    """How long a phase took in all compilations."""

    name: str
    seconds: float


class RemarkItem(Item, frozen=True):
    """What a compiler could not do."""

    subject: str
    """What it is about, as the record has it."""
    title: str
    """The same in words: ``graph break``."""
    reason: str
    number: str | None = None
    """torch's own, as ``GB0059``."""
    hints: tuple[str, ...] = ()
    place: PlaceItem | None = None


class ChangeItem(Item, frozen=True):
    """A pass that changed a graph."""

    name: str
    stage: str
    ordinal: int = 0
    change: str = ""
    """How many nodes it made, erased and altered: ``+1 -1 ~2``."""
    raised: str | None = None
    uri: str | None = None
    """The graph as it left it; left out where that is not in the store."""


class CodeItem(Item, frozen=True):
    """A listing of code with kernels."""

    uri: str
    qualname: str
    stage: str


class CompilationItem(Item, frozen=True):
    """A compilation."""

    id: str
    function: str
    outcome: str
    cause: str
    attempts: int = 1
    seconds: float | None = None
    nodes: int | None = None
    cached: tuple[str, ...] = ()
    place: PlaceItem | None = None
    remarks: tuple[RemarkItem, ...] = ()
    changes: tuple[ChangeItem, ...] = ()
    guards: int = 0
    document: str | None = None
    """The virtual document of the guards."""
    code: tuple[CodeItem, ...] = ()
    """What inductor wrote in it."""


class RankItem(Item, frozen=True):
    """A rank of the launch, and where it first differs from the lowest."""

    rank: int
    run: RunItem
    graph: str | None = None
    """The first that the lowest rank has otherwise; left out where all are the same."""
    summary: str = ""
    node: str | None = None
    """The first of that graph that is not the same."""
    uri: str | None = None
    """The listing with this node; left out where that is not in the store."""
    line: int = 0
    place: PlaceItem | None = None


class PatternItem(Item, frozen=True):
    """A pattern of the program, and how often it was looked for."""

    name: str
    ran: int
    matched: int
    """How many matches it had."""
    of: str | None = None
    """The pass that looks for it, where that has another name."""
    place: PlaceItem | None = None


class OverviewItem(Item, frozen=True):
    """What a run did."""

    rows: list[list[CompilationItem]]
    """In torch's order; many recompilations of one frame are one row."""
    phases: list[PhaseItem]
    """The longest first."""
    remarks: list[RemarkItem]
    """Those of no compilation."""
    code: list[CodeItem]
    """That of no compilation."""
    patterns: tuple[PatternItem, ...] = ()
    left_out: int = 0
    """How many compilations are too many to be sent."""
    ranks: tuple[RankItem, ...] = ()
    """All of the launch, the lowest first."""


def run_item(run: Run, summary: Summary, state: State) -> RunItem:
    """A run, as its summary has it."""
    return RunItem(
        run.id,
        state.value,
        run.start,
        summary.seconds,
        run.program,
        run.arguments,
        run.rank,
        summary.end.raised if summary.end else None,
        summary.compilations,
        summary.recompilations,
        summary.breaks,
        summary.skipped,
        summary.limits,
        summary.errors,
    )


def overview_item(
    client: Client,
    overview: RunOverview,
    uri: _Uri,
    guards: _Document,
    lines_of: Lines,
    ranks: tuple[RankItem, ...],
) -> OverviewItem:
    """What a run did.

    `uri` gives that of the text of a revision that is in the store, and `guards` the document with
    the guards of a compilation.
    """

    def place(one: QuotedPlace | None) -> PlaceItem | None:
        return None if one is None else place_item(client, one.place, lines_of)

    def remark(one: Remark) -> RemarkItem:
        return RemarkItem(
            one.subject.value,
            SUBJECTS.get(one.subject, one.subject.value),
            one.reason,
            one.id or None,
            one.hints,
            place(next(iter(one.places), None)),
        )

    def change(one: Pass) -> ChangeItem:
        left = None if one.after is None else uri(one.after.text)
        return ChangeItem(
            *(one.name, one.stage, one.ordinal, change_of(one), one.raised, left)
        )

    def code(names: Iterable[RevisionName]) -> Iterator[CodeItem]:
        for one in names:
            there = uri(one.text)
            if there is not None:
                yield CodeItem(there, one.identity.qualname, one.identity.stage)

    def compilation(one: Compiled) -> CompilationItem:
        of = one.compilation
        return CompilationItem(
            of.id,
            of.function,
            of.outcome.value,
            of.cause.value,
            of.attempts,
            of.seconds,
            of.nodes,
            of.cached,
            place(of.place),
            tuple(map(remark, one.remarks[:_MOST])),
            tuple(map(change, one.changes[:_MOST])),
            0 if one.guards is None else one.guards.count,
            None if one.guards is None else guards(of.id),
            tuple(code(one.code)),
        )

    rows: list[list[CompilationItem]] = []
    sent = 0
    for row in overview.rows():
        shown = row[: _MOST - sent]
        if shown:
            rows.append([compilation(one) for one in shown])
        sent += len(shown)
    return OverviewItem(
        rows,
        [PhaseItem(name, seconds) for name, seconds in overview.phases],
        [remark(one) for one in overview.remarks[:_MOST]],
        [*code(overview.code)],
        tuple(
            PatternItem(
                pattern.name,
                pattern.ran,
                pattern.matched,
                None if pattern.name == one.name else one.name,
                place(pattern.place),
            )
            for one in overview.searches
            for pattern in one.patterns.values()
        )[:_MOST],
        len(overview.compiled) - sent,
        ranks,
    )
