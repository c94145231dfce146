"""What became of an expression of the source in each graph that a run made of it.

Values in, values out: who asks gives the events of a run in their order, and what reads
a listing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fxls.listing import Facts, Identity, Listing, Place
from fxls.record import Event, Made, Pass, RevisionName
from fxls.text import Point, Span

__all__ = ["Became", "Expression", "Stage", "Step", "what_became"]


@dataclass(frozen=True, slots=True)
class Expression:
    """What is asked about: the smallest expression at a point, or all on a line."""

    path: str
    line: int
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What a pass did to the nodes that an expression had become."""

    ran: Pass
    gone: tuple[str, ...]
    made: tuple[str, ...]
    altered: tuple[str, ...]
    """Those that call something else, or have other arguments."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A graph, as a stage left it, and what the passes of that stage did."""

    revision: RevisionName
    nodes: tuple[Facts, ...]
    """What the expression is there; empty where nothing of it is left."""
    steps: tuple[Step, ...]
    without_kernel: tuple[tuple[str, str], ...] = ()
    """For code, the nodes of the expression that no kernel computes, and what each is."""


@dataclass(frozen=True, slots=True)
class Became:
    """The graphs of a run in which the expression is, or was until a pass."""

    places: tuple[Place, ...]
    """The expressions that are meant; none where no graph has a node of them."""
    digests: frozenset[str]
    """Those of their source, as it was when the graphs were made."""
    stages: tuple[Stage, ...]
    unread: int
    """How many graphs are not in the store any more."""


Read = Callable[[RevisionName], Listing | None]


@dataclass(slots=True)
class _Graph:
    """A graph of one identity: its newest revision, and its passes."""

    newest: RevisionName
    passes: list[Pass] = field(default_factory=list[Pass])


def what_became(events: Iterable[Event], asked: Expression, read: Read) -> Became:
    """The nodes that came from an expression, stage by stage."""
    graphs: dict[Identity, _Graph] = {}
    for event in events:
        for name, ran in _left(event):
            graph = graphs.setdefault(name.identity, _Graph(name))
            graph.newest = name
            if ran is not None:
                graph.passes.append(ran)
    meant: dict[Place, None] = {}
    digests: set[str] = set()
    unread = 0
    for name in _revisions(graphs.values()):
        listing = read(name)
        if listing is None:
            unread += 1
        elif places := dict.fromkeys(_places(listing, asked)):
            meant |= places
            digests.add(listing.digest_of(asked.path))
    places = _smallest(meant) if asked.column is not None else tuple(meant)
    spans = {place.span for place in places}
    found: list[Stage] = []
    for graph in graphs.values():
        listing = read(graph.newest)
        nodes = () if listing is None else tuple(_nodes(listing, asked.path, spans))
        steps = tuple(_inner(_steps(graph.passes, asked.path, spans, read)))
        without = () if listing is None else _without(listing, found)
        if nodes or steps or without:
            found.append(Stage(graph.newest, nodes, steps, without))
    return Became(places, frozenset(digests), tuple(found), unread)


def _inner(steps: Iterable[Step]) -> Iterator[Step]:
    """Of a pass and one that ran inside of it and did the same, the inner one."""
    last: Step | None = None
    for step in steps:
        is_outer = (
            last is not None
            and step.ran.name in last.ran.under
            and step.ran.after == last.ran.after
            and (step.gone, step.made, step.altered)
            == (last.gone, last.made, last.altered)
        )
        if not is_outer:
            yield step
            last = step


def _left(event: Event) -> Iterator[tuple[RevisionName, Pass | None]]:
    """What graph an event left."""
    match event:
        case Made(revision):
            yield revision, None
        case Pass(after=RevisionName() as after, changed=True):
            yield after, event
        case _:
            pass


def _revisions(graphs: Iterable[_Graph]) -> Iterator[RevisionName]:
    seen: set[RevisionName] = set()
    for graph in graphs:
        for name in (*(one.before for one in graph.passes), graph.newest):
            if name is not None and name not in seen:
                seen.add(name)
                yield name


def _places(listing: Listing, asked: Expression) -> Iterator[Place]:
    for at in range(len(listing.nodes)):
        for place in _places_of(listing, at):
            if place.path == asked.path and _is_at(place.span, asked):
                yield place


def _places_of(listing: Listing, node: int) -> Iterator[Place]:
    for origin in listing.origins(node):
        yield from origin.places


def _is_at(span: Span, asked: Expression) -> bool:
    if asked.column is None:
        return span.start.line == asked.line
    return span.start <= Point(asked.line, asked.column) < span.end


def _smallest(places: Iterable[Place]) -> tuple[Place, ...]:
    """The expression that lies in all the others, if they do so."""
    found: list[Place] = []
    for place in places:
        if not found or found[0].span.encloses(place.span):
            found = [place, *(one for one in found if one.span == place.span)]
    return tuple(found[:1])


def _nodes(listing: Listing, path: str, spans: set[Span]) -> Iterator[Facts]:
    for at, facts in enumerate(listing.nodes):
        # Of code, the calls of kernels count: what else there is computes nothing.
        if facts.opcode in ("kernel", "buffer"):
            continue
        if any(p.path == path and p.span in spans for p in _places_of(listing, at)):
            yield facts


def _without(code: Listing, stages: list[Stage]) -> tuple[tuple[str, str], ...]:
    """What no kernel computes of the nodes that the graph before the code has."""
    for parent in code.parents[:1]:
        for stage in stages:
            if stage.revision.identity == parent.identity:
                names = {facts.name for facts in stage.nodes}
                return tuple(one for one in code.without_kernel if one[0] in names)
    return ()


def _steps(
    passes: Iterable[Pass], path: str, spans: set[Span], read: Read
) -> Iterator[Step]:
    """Those that did something to a node of the expression; parts before the whole."""
    for ran in passes:
        before = None if ran.before is None else read(ran.before)
        after = None if ran.after is None else read(ran.after)
        if before is None or after is None or before.identity != after.identity:
            continue
        had = {facts.name: facts for facts in _nodes(before, path, spans)}
        has = {facts.name: facts for facts in _nodes(after, path, spans)}
        both = [name for name in had if name in has]
        step = Step(
            ran,
            tuple(name for name in had if name not in has),
            tuple(name for name in has if name not in had),
            tuple(
                name
                for name in both
                if _call(before, had[name]) != _call(after, has[name])
            ),
        )
        if step.gone or step.made or step.altered:
            yield step


def _call(listing: Listing, facts: Facts) -> tuple[object, ...]:
    """What a node calls, and with what, by the names of nodes."""

    def text(pieces: tuple[str | int, ...]) -> str:
        return "".join(
            piece if isinstance(piece, str) else listing.nodes[piece].name
            for piece in pieces
        )

    named = tuple((key, text(pieces)) for key, pieces in facts.kwargs)
    return facts.opcode, facts.target, tuple(map(text, facts.args)), named
