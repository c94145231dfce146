"""What is under a cursor in a source: the nodes, listings and calls that it became."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fxls.ide.entries.entries import comment_at
from fxls.ide.listing.document import Document
from fxls.ide.listing.parent import captured_identity
from fxls.ide.listing.submodule_calls import Part, parts
from fxls.ide.source.source_file import SourceFile, listings_from, listings_of
from fxls.ide.syntax.module_classes import class_at
from fxls.listing import PIPELINE, Identity
from fxls.text import Point, Span

__all__ = ["Made", "Stages", "calls_at", "listings_at", "made_at", "stages"]

_GIVEN = {"placeholder", "get_attr", "output", "buffer", "kernel"}
"""What computes nothing where it stands; kernels do so where they are called."""


@dataclass(frozen=True, slots=True)
class Made:
    """The nodes of one listing that an expression of a source made."""

    document: Document
    span: Span
    """The expression."""
    nodes: tuple[int, ...]
    """In the order of the graph; never empty."""


def made_at(source: SourceFile, point: Point) -> tuple[Made, ...]:
    """What the innermost expression under a cursor made, listing by listing.

    A place in a function that was called stands for all that its calls made, and a
    call of a submodule or function for all that was made below it.

    What a graph is given, its inputs, parameters and saved values, counts only where
    the expression computes nothing: it names an attribute then, or an input.
    """
    spans: dict[Span, list[tuple[Document, int]]] = {}
    for document in source.documents:
        for span, frame in _touched(source, document, point):
            spans.setdefault(span, []).append((document, frame))
    if not spans:
        return ()
    innermost = min(spans, key=lambda span: _size(span, point))
    found: dict[Document, set[int]] = {}
    for document, frame in spans[innermost]:
        found.setdefault(document, set()).update(document.nodes_through(frame))
    made = [
        Made(document, innermost, tuple(sorted(nodes)))
        for document, nodes in found.items()
        if nodes
    ]
    return tuple(filter(None, map(_computed, made))) or tuple(made)


@dataclass(frozen=True, slots=True)
class Stages:
    """What an expression became in one captured graph and in what was made of that."""

    captured: Identity
    shown: tuple[Made, ...]
    """As it was captured, or else in the earliest stage that there is; never empty."""
    other: tuple[Made, ...]
    """In the other stages, in the order of the pipeline."""


def stages(found: Iterable[Made]) -> tuple[Stages, ...]:
    """What an expression became, by the graphs that were captured."""
    graphs: dict[Identity, list[Made]] = {}
    for made in found:
        graphs.setdefault(captured_identity(made.document), []).append(made)
    return tuple(_stages(captured, made) for captured, made in graphs.items())


def _stages(captured: Identity, found: list[Made]) -> Stages:
    in_order = sorted(found, key=_progress)
    # Where several entries gave one graph, it has several listings of a stage.
    earliest = [made for made in in_order if _progress(made) == _progress(in_order[0])]
    return Stages(captured, tuple(earliest), tuple(in_order[len(earliest) :]))


def _progress(made: Made) -> tuple[int, bool, int, str]:
    listing = made.document.listing
    stage = listing.identity.stage
    last = stage.rpartition(", ")[2]
    step = PIPELINE.index(last) if last in PIPELINE else len(PIPELINE)
    return len(listing.parents), listing.computes_gradients, step, stage


def _computed(made: Made) -> Made | None:
    """Without what the graph is given; None when nothing is left."""
    facts = made.document.listing.nodes
    nodes = tuple(node for node in made.nodes if facts[node].opcode not in _GIVEN)
    return replace(made, nodes=nodes) if nodes else None


def listings_at(
    source: SourceFile, point: Point
) -> tuple[Span, tuple[Document, ...]] | None:
    """The listings of an entry comment or class name; None when there are none."""
    entry = comment_at(source.lines.text, source.path, point)
    if entry is not None and entry.span is not None:
        span = entry.span
        found = listings_from(source, entry)
    else:
        named = class_at(source.lines, point)
        if named is None:
            return None
        name, span = named
        found = listings_of(source, name)
    return (span, tuple(found)) if found else None


def calls_at(source: SourceFile, point: Point) -> tuple[Span, list[Part]]:
    """The calls of the class whose name is under a cursor."""
    named = class_at(source.lines, point)
    if named is None:
        return Span(point, point), []
    name, span = named
    return span, parts(source.documents, source.paths).get(name, [])


def _touched(
    source: SourceFile, document: Document, point: Point
) -> Iterator[tuple[Span, int]]:
    """The frames whose expression is under a cursor, with its span in this text."""
    moves = source.moves.get(document.path)
    before = moves.before(point) if moves else point
    if before is None:
        return
    for path in source.paths:
        for frame in document.frames_on(path, before.line):
            span = document.listing.frames[frame].span
            if span.touches(before):
                now = moves.after(span) if moves else span
                if now is not None:
                    yield now, frame


def _size(span: Span, point: Point) -> tuple[bool, int, int]:
    """Smaller is more inner; a span that ends at the cursor comes after all others."""
    lines = span.end.line - span.start.line
    columns = span.end.column - (0 if lines else span.start.column)
    return span.end == point, lines, columns
