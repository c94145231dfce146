"""A listing as a document: its path, and tables that answer about points quickly."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from fxls.ide.listing.groups import Group, groups
from fxls.listing import Listing, Mark, Role
from fxls.text import LineTable, Point, Span

__all__ = ["Destination", "Document", "Jump", "Touched"]


@dataclass(frozen=True, slots=True, order=True)
class Destination:
    """A place to go to: `focus`, a part of `whole`, is what the cursor lands on."""

    path: str
    whole: Span
    focus: Span


@dataclass(frozen=True, slots=True)
class Jump:
    """Where a question leads, and the span of the text that was asked about."""

    span: Span
    destinations: tuple[Destination, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """What a cursor in a listing is on."""

    node: int
    span: Span
    role: Role | None
    """What the name under the cursor does; None elsewhere in the node's statement."""


class Document:
    """A listing and the path of its text.

    The tables are made when first asked for, once: one question costs about the same
    at ten nodes and at a hundred thousand.
    """

    def __init__(self, path: str, listing: Listing) -> None:
        self.path = path
        self.listing = listing

    @cached_property
    def lines(self) -> LineTable:
        return LineTable(self.listing.text)

    @property
    def has_tables(self) -> bool:
        """Whether what `make_tables` makes is there."""
        return {"lines", "_marks"} <= vars(self).keys()

    def make_tables(self) -> None:
        """Make the tables that each question about a place asks."""
        _ = self.lines, self._marks

    def marks_of(self, node: int) -> tuple[Mark, ...]:
        """Every mark of a node, in the order of the text."""
        return tuple(self._marks[node])

    def marks_in(self, first: int, last: int) -> tuple[Mark, ...]:
        """The marks on the lines `first` to `last`."""
        marks = self.listing.marks
        start = bisect_left(marks, first, key=lambda mark: mark.line)
        return marks[start : bisect_right(marks, last, key=lambda mark: mark.line)]

    @cached_property
    def groups(self) -> Group:
        """The nodes by module."""
        return groups(self.listing)

    @cached_property
    def names(self) -> str:
        """Name and target of each node, in small letters, one node a line."""
        nodes = self.listing.nodes
        return "\n".join([f"{facts.name} {facts.target}" for facts in nodes]).lower()

    @cached_property
    def calls(self) -> frozenset[tuple[str, str]]:
        """Opcode and target of all nodes."""
        return frozenset((facts.opcode, facts.target) for facts in self.listing.nodes)

    def touched(self, point: Point) -> Touched | None:
        """The node under a cursor: that of the name, else that of the statement.

        The text of a kernel is a part of the statement that defines it.
        """
        mark = self.listing.mark_at(point)
        if mark is not None:
            return Touched(mark.node, mark.span, mark.role)
        node = self._statements.get(point.line)
        if node is None:
            node = self._kernel_around(point.line)
        if node is None:
            return None
        span = self.statement(point.line)
        return Touched(node, span, None) if span.touches(point) else None

    def last_line(self, node: int) -> int:
        """The last line of a node: that of its statement, and of a kernel's text."""
        line = self.listing.nodes[node].line
        return self._kernels.get(line, (node, line))[1]

    def on_definition(self, point: Point) -> Span | None:
        """The ``def`` line when a cursor is on it, but on no node of it."""
        if point.line != self.listing.definition or self.listing.mark_at(point):
            return None
        span = self.statement(point.line)
        return span if span.touches(point) else None

    def statement(self, line: int) -> Span:
        """A line without the blanks around it."""
        content = self.lines.line(line)
        start = len(content) - len(content.lstrip())
        return Span.of(line, start, line, max(start, len(content.rstrip())))

    @property
    def start(self) -> Destination:
        """The ``def`` of the listing."""
        whole = self.statement(self.listing.definition)
        return Destination(self.path, whole, whole)

    @property
    def end(self) -> Point:
        """The end of the text."""
        return self.lines.point(len(self.listing.text))

    def binding(self, node: int) -> Mark | None:
        """The mark that binds a node; None when there is none."""
        for mark in self._marks[node]:
            if mark.role is Role.BINDS:
                return mark
        return None

    def read_by(self, node: int) -> tuple[int, ...]:
        """The nodes that a node reads, each once, in the order of its arguments."""
        facts = self.listing.nodes[node]
        written = (*facts.args, *(pieces for _, pieces in facts.kwargs))
        pieces = (piece for pieces in written for piece in pieces)
        return tuple(dict.fromkeys(p for p in pieces if isinstance(p, int)))

    def destination(self, node: int) -> Destination:
        """Where a node is bound; for the output, its statement."""
        mark = self.binding(node)
        if mark is not None:
            return Destination(self.path, self.statement(mark.line), mark.span)
        whole = self.statement(self.listing.nodes[node].line)
        return Destination(self.path, whole, whole)

    def bound_at(self, node: int) -> Point:
        """Where the name of a node is bound; for the output, its statement begins."""
        mark = self.binding(node)
        if mark is not None:
            return Point(mark.line, mark.column)
        return self.statement(self.listing.nodes[node].line).start

    def frames_on(self, source: str, line: int) -> tuple[int, ...]:
        """The rows of the frame table whose expression has part of a line."""
        return tuple(self._frames.get((source, line), ()))

    def made_in(self, frame: int) -> tuple[int, ...]:
        """The nodes that were made in a frame itself, in the order of the graph."""
        return tuple(self._made_in.get(frame, ()))

    def nodes_through(self, frame: int) -> tuple[int, ...]:
        """The nodes that were made in a frame or in what it called."""
        found: set[int] = set()
        below = [frame]
        while below:
            row = below.pop()
            found.update(self._made_in.get(row, ()))
            below += self._callees.get(row, ())
        return tuple(sorted(found))

    @cached_property
    def _marks(self) -> list[list[Mark]]:
        marks: list[list[Mark]] = [[] for _ in self.listing.nodes]
        for mark in self.listing.marks:
            marks[mark.node].append(mark)
        return marks

    @cached_property
    def _statements(self) -> dict[int, int]:
        """The node of each line; placeholders share the ``def`` line, which has none."""
        return {
            facts.line: node
            for node, facts in enumerate(self.listing.nodes)
            if facts.line != self.listing.definition
        }

    def _kernel_around(self, line: int) -> int | None:
        """The kernel whose text has a line."""
        for first, (node, last) in self._kernels.items():
            if first <= line <= last:
                return node
        return None

    @cached_property
    def _kernels(self) -> dict[int, tuple[int, int]]:
        """By its first line each kernel with a text of several lines, and the last one.

        The text is a string in three quotes, which stand nowhere inside of it.
        """
        found: dict[int, tuple[int, int]] = {}
        for node, facts in enumerate(self.listing.nodes):
            if facts.opcode != "kernel":
                continue
            first = self.lines.line(facts.line)
            at = self.lines.offset(Point(facts.line, len(first)))
            for quotes in ("'''", '"""'):
                end = self.listing.text.find(quotes, at)
                if first.count(quotes) == 1 and end >= 0:
                    found[facts.line] = (node, self.lines.point(end).line)
        return found

    @cached_property
    def _frames(self) -> dict[tuple[str, int], list[int]]:
        frames: dict[tuple[str, int], list[int]] = defaultdict(list)
        for row, frame in enumerate(self.listing.frames):
            path = self.listing.sources[frame.source].path
            for line in range(frame.line, frame.end_line + 1):
                frames[path, line].append(row)
        return frames

    @cached_property
    def _callees(self) -> dict[int, list[int]]:
        callees: dict[int, list[int]] = defaultdict(list)
        for row, frame in enumerate(self.listing.frames):
            if frame.caller is not None:
                callees[frame.caller].append(row)
        return callees

    @cached_property
    def _made_in(self) -> dict[int, list[int]]:
        made: dict[int, list[int]] = defaultdict(list)
        for node, facts in enumerate(self.listing.nodes):
            if facts.origin is not None:
                made[facts.origin].append(node)
            for origin in facts.more_origins:
                made[origin].append(node)
        return made
