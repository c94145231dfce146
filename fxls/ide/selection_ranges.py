"""What a growing selection takes in: name, expression, statement, module, forward."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator

from fxls.ide.listing.document import Document
from fxls.ide.listing.groups import Group
from fxls.ide.syntax.quiet_parser import parsed
from fxls.text import Point, Span

__all__ = ["selections"]


def selections(document: Document, point: Point) -> tuple[Span, ...]:
    """The spans around a point, from the inside; each encloses the one before."""
    whole = Span(Point(0, 0), document.end)
    forward = Span(document.start.whole.start, document.end)
    spans = [*_expressions(document, point), document.statement(point.line)]
    modules = [
        Span(document.statement(first).start, document.statement(last).end)
        for first, last in _modules_at(document, point.line)
    ]
    spans += [*reversed(modules), forward, whole]
    found: list[Span] = []
    for span in spans:
        # A module with one line is that line.
        around = span.touches(point) and (not found or span.encloses(found[-1]))
        if around and (not found or span != found[-1]):
            found.append(span)
    return tuple(found)


def _modules_at(document: Document, line: int) -> Iterator[tuple[int, int]]:
    """The first and the last line of each module around a line, the outermost first."""
    nodes = document.listing.nodes

    def begins(group: Group) -> int:
        return nodes[group.first].line

    below: list[Group] = document.groups.inner
    while below:
        behind = bisect_right(below, line, key=begins)
        inner: list[Group] = []
        # Several only where one line has nodes of several modules.
        for group in reversed(below[:behind]):
            last = nodes[group.last].line
            if last < line:
                break
            yield begins(group), last
            inner[:0] = group.inner
        below = inner


def _expressions(document: Document, point: Point) -> list[Span]:
    """The expressions of one line around a point, from the inside."""
    content = document.lines.line(point.line)
    blanks = len(content) - len(content.lstrip())
    code = content.strip()
    if code.startswith("def "):
        mark = document.listing.mark_at(point)
        return [mark.span] if mark else []
    tree = parsed(code)
    if tree is None:
        return []
    data = code.encode()

    def column(offset: int) -> int:
        # Python counts bytes.
        return blanks + len(data[:offset].decode(errors="replace"))

    found: list[Span] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.keyword):
            start, end = column(node.col_offset), column(node.end_col_offset or 0)
            span = Span.of(point.line, start, point.line, end)
            if span.touches(point):
                found.append(span)
    return sorted(found, key=lambda s: s.end.column - s.start.column)
