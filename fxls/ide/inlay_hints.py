"""Shapes beside the code: behind the names of a listing, and in the source."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fxls.counted import counted
from fxls.ide.listing.document import Document
from fxls.ide.listing.node_times import (
    TimedCode,
    TimedKernel,
    by_node,
    code_text,
    milliseconds,
    share_text,
    timed_kernels,
    times_text,
)
from fxls.ide.listing.other_graphs import OtherGraph, other_values
from fxls.ide.listing.size_card import order_of, size_text
from fxls.ide.listing.value_text import holds_tensor, long_form, short_form
from fxls.ide.source.agreement import (
    agrees,
    is_alone_at_its_start,
    taken_out,
)
from fxls.ide.source.line_times import line_times
from fxls.ide.source.runs import (
    Definitions,
    definitions_of,
    given_by,
    runs_of,
    runs_through,
)
from fxls.ide.source.source_file import SourceFile
from fxls.ide.syntax.pieces import trees
from fxls.listing import Role
from fxls.record.kernel_times import CALL
from fxls.record.node_errors import NodeError, error_text
from fxls.record.sizes import DataSize, InputSize
from fxls.text import LineTable, Point, Span

__all__ = [
    "Hint",
    "error_hints",
    "hints",
    "line_time_hints",
    "size_hints",
    "source_hints",
    "time_hints",
    "tip",
]

_SHAPES = 3
"""Code that ran with more shapes than this shows only some of them."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A text to show at a point, between the characters of a line."""

    point: Point
    text: str
    path: str = ""
    """The listing that the hint is about."""
    node: int = -1


def hints(
    document: Document, first: int, last: int, others: Sequence[OtherGraph] = ()
) -> tuple[Hint, ...]:
    """Shape and dtype of each tensor, or tensors, that the lines bind.

    One that is not the same in `others` has each of them once.
    """
    found: list[Hint] = []
    for mark in document.marks_in(first, last):
        value = document.listing.nodes[mark.node].value
        if mark.role is Role.BINDS and value is not None and holds_tensor(value):
            values = other_values(document.listing, mark.node, others)
            shapes = [short_form(value), *(short_form(one) for _, one in values)]
            text = _shapes_text(dict.fromkeys(shapes))
            found.append(Hint(mark.span.end, text, document.path, mark.node))
    return tuple(found)


def _shapes_text(shapes: Iterable[str]) -> str:
    known = [*shapes]
    shown = known[:_SHAPES] + ["…"] * (len(known) > _SHAPES)
    return ": " + " | ".join(shown)


def tip(document: Document, node: int) -> str | None:
    """What a hint says when somebody points at it; None for a node that is not there."""
    if not 0 <= node < len(document.listing.nodes):
        return None
    facts = document.listing.nodes[node]
    value = f": {long_form(facts.value)}" if facts.value is not None else ""
    return f"{facts.name} = {facts.target}{value}"


def source_hints(source: SourceFile, first: int, last: int) -> tuple[Hint, ...]:
    """Shapes behind the names that the lines assign, and behind what they return.

    They are the shapes that the expression had in graphs as they were captured. A
    line that ran several times, or in several listings, has each shape once.
    """
    text = source.lines.text
    definitions = definitions_of(text) if source.documents else None
    if definitions is None:
        return ()
    runs = runs_of(source, definitions)
    known: dict[Point, dict[str, tuple[Document, int]]] = {}
    for place in _places(source.lines, first, last) if runs else ():
        for document, node in _nodes(source, definitions, runs, place):
            value = document.listing.nodes[node].value
            if value is not None and holds_tensor(value):
                shapes = known.setdefault(place.point, {})
                shapes.setdefault(short_form(value), (document, node))
    found: list[Hint] = []
    for point, shapes in known.items():
        document, node = next(iter(shapes.values()))
        found.append(Hint(point, _shapes_text(shapes), document.path, node))
    return tuple(found)


def size_hints(
    found: Iterable[tuple[InputSize | DataSize, Span]],
    lines: LineTable,
    first: int,
    last: int,
) -> tuple[Hint, ...]:
    """What is known of sizes on some lines: behind the names of parameters, and behind
    the lines that sizes come from which only a run knows.
    """
    found = [(one, span) for one, span in found if first <= span.end.line <= last]
    texts: dict[Point, list[str]] = {}
    of_data: dict[int, list[str]] = {}
    for size, span in sorted(found, key=lambda one: (one[1].end, order_of(one[0]))):
        if isinstance(size, DataSize):
            of_data.setdefault(span.end.line, []).append(size_text(size))
        else:
            texts.setdefault(span.end, []).append(size_text(size))
    return (
        *(Hint(at, f": {'; '.join(said)}") for at, said in texts.items()),
        *(_at_end(lines, line, "; ".join(said)) for line, said in of_data.items()),
    )


def time_hints(
    document: Document, codes: Iterable[TimedCode], first: int, last: int
) -> tuple[Hint, ...]:
    """How long kernels take, behind the lines of a listing: of code that calls them, and
    of a graph whose nodes they compute.
    """
    codes = [*codes]
    kernels = by_node(timed_kernels(document, codes))
    nodes = document.listing.nodes
    texts: dict[int, str] = {}
    # Most listings have no times, and some have a hundred thousand nodes.
    for node in sorted(kernels):
        is_call = nodes[node].opcode == CALL
        times = kernels[node]
        texts[nodes[node].line] = share_text(times[0]) if is_call else times_text(times)
    for code in codes:
        if code.document.path == document.path:
            texts |= _called(document, kernels)
            texts[document.listing.definition] = code_text(code.times)
    return tuple(
        _at_end(document.lines, line, text)
        for line, text in texts.items()
        if first <= line <= last
    )


def _called(
    code: Document, kernels: Mapping[int, Sequence[TimedKernel]]
) -> dict[int, str]:
    """How long all calls of a kernel take, by the line that defines it."""
    found: dict[int, str] = {}
    for facts in code.listing.nodes:
        if facts.opcode == "kernel":
            called = [one for user in facts.users for one in kernels.get(user, ())]
            if called:
                seconds = milliseconds(sum(one.seconds for one in called))
                found[facts.line] = f"{seconds} in {counted(len(called), 'call')}"
    return found


def error_hints(
    document: Document, errors: Mapping[int, NodeError], first: int, last: int
) -> tuple[Hint, ...]:
    """How far values are off, behind the lines of a listing; nothing behind those that
    are the same in each bit.
    """
    texts = {
        document.listing.nodes[node].line: error_text(error)
        for node, error in sorted(errors.items(), key=lambda one: one[1].value.share)
        if error.value.error
    }
    return tuple(
        _at_end(document.lines, line, text)
        for line, text in sorted(texts.items())
        if first <= line <= last
    )


def line_time_hints(
    source: SourceFile, codes: Iterable[TimedCode], first: int, last: int
) -> tuple[Hint, ...]:
    """How long the kernels take that compute what stands on lines, behind these lines."""
    return tuple(
        _at_end(source.lines, line, time.text())
        for line, time in sorted(line_times(source, codes).items())
        if first <= line <= last
    )


def _at_end(lines: LineTable, line: int, text: str) -> Hint:
    return Hint(Point(line, len(lines.line(line))), f"  {text}")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the hint of a statement stands, and what it is about."""

    point: Point
    span: Span
    """The expression."""
    value: ast.expr
    statement: Span | None = None
    """The whole statement, where there is one and it begins a line."""
    item: tuple[int, int] | None = None
    """Which part of the value it is about, of how many, where names take it apart."""

    def is_on_line(self, span: Span) -> bool:
        """Whether a span is the line of the statement, which torch knows no part of."""
        whole = self.statement
        return (
            whole is not None
            and span.start == whole.start
            and span.end.line == whole.end.line
            and span.end >= whole.end
        )


@dataclass(frozen=True, slots=True)
class _Code:
    """The lines of a text, and the one from which a tree of a part counts its own."""

    lines: LineTable
    start: int

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """The span of a syntax node; Python counts bytes."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Span(
            self._point(node.lineno, node.col_offset), self._point(end_line, end)
        )

    def _point(self, line: int, offset: int) -> Point:
        at = self.start + line - 1
        before = self.lines.line(at).encode("utf-8", "surrogatepass")[:offset]
        return Point(at, len(before.decode("utf-8", "replace")))


def _places(lines: LineTable, first: int, last: int) -> Iterator[_Place]:
    """Every place of a hint on some lines."""
    for start, tree in trees(lines.text, first, last):
        yield from _places_in(tree, _Code(lines, start), first, last)


def _places_in(
    tree: ast.Module, code: _Code, first: int, last: int
) -> Iterator[_Place]:
    nodes = [*ast.walk(tree)]
    alone = _alone(nodes)
    for node in nodes:
        whole: Span | None = None
        if isinstance(node, ast.stmt) and node in alone:
            whole = code.span(node)
        match node:
            case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=value):
                for place in _taken_apart(target, value, code, whole):
                    if first <= place.point.line <= last:
                        yield place
                continue
            case (
                ast.Assign(targets=[ast.Name() as target], value=value)
                | ast.AnnAssign(annotation=target, value=ast.expr() as value)
                | ast.NamedExpr(target=target, value=value)
            ):
                span = code.span(value)
                point = code.span(target).end
            case ast.AugAssign(target=ast.Name() as target, op=op, value=operand):
                value = ast.BinOp(ast.Name(target.id, ast.Load()), op, operand)
                # The frame of ``x += y`` is the whole statement.
                span = code.span(node)
                point = code.span(target).end
            case ast.Return(value=ast.expr() as value):
                span = code.span(value)
                point = span.end
            case _:
                continue
        if first <= point.line <= last:
            yield from _each_side(_Place(point, span, value, whole), code)


def _each_side(place: _Place, code: _Code) -> Iterator[_Place]:
    """A place for an expression; for a choice also one for each side of it."""
    yield place
    if isinstance(place.value, ast.IfExp):
        for side in (place.value.body, place.value.orelse):
            # A name computes nothing, and a line of its own is that of the whole.
            part = _Place(place.point, code.span(side), side)
            yield from _each_side(part, code)


def _taken_apart(
    target: ast.Tuple | ast.List, value: ast.expr, code: _Code, whole: Span | None
) -> Iterator[_Place]:
    """A place for each name of ``q, k = …``, also of ``y, (h, c) = …``."""
    if any(isinstance(one, ast.Starred) for one in target.elts):
        return
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else ()
    for item, name in enumerate(target.elts):
        if isinstance(name, ast.Tuple | ast.List):
            inner = parts[item] if len(parts) == len(target.elts) else name
            yield from _taken_apart(name, inner, code, None)
        elif isinstance(name, ast.Name):
            point = code.span(name).end
            if len(parts) == len(target.elts):
                part = _Place(point, code.span(parts[item]), parts[item])
                yield from _each_side(part, code)
            else:
                # The engine notes the name for what is taken out of a value.
                yield _Place(point, code.span(name), name)
                of = (item, len(target.elts))
                yield _Place(point, code.span(value), value, whole, of)


def _alone(nodes: Iterable[ast.AST]) -> set[ast.stmt]:
    """The statements that share their line with no other, and have no second line."""
    statements = [node for node in nodes if isinstance(node, ast.stmt)]
    count = Counter(node.lineno for node in statements)
    return {
        node
        for node in statements
        if count[node.lineno] == 1 and node.lineno == node.end_lineno
    }


def _nodes(
    source: SourceFile,
    definitions: Definitions,
    runs: Iterable[Document],
    place: _Place,
) -> Iterator[tuple[Document, int]]:
    """The node whose value an expression had, each time that it ran."""
    start = place.span.start
    for document in runs:
        moves = source.moves.get(document.path)
        before = moves.before(start) if moves else start
        if before is None:
            continue
        # The engine knows the expression of a node.
        is_exact = document.listing.identity.producer == "engine"
        for frame in runs_through(source, definitions, document, before.line):
            row = document.listing.frames[frame].span
            span = moves.after(row) if moves else row
            if span is None:
                continue
            is_sure = span == place.span and (
                is_exact or is_alone_at_its_start(place.value)
            )
            if not (is_sure or span == place.span or place.is_on_line(span)):
                continue
            if place.item is not None:
                node = taken_out(place.value, document, frame, *place.item)
                if node is not None and not is_exact:
                    yield document, node
                continue
            node = given_by(document, frame)
            if node is not None and (
                is_sure or (not is_exact and agrees(place.value, document, frame, node))
            ):
                yield document, node
