"""Documents that are made of listings: the table of a graph, the list of revisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fxls.counted import counted
from fxls.ide.document_links import DocumentLink
from fxls.ide.listing.card import Grid, Inline, Line, Link
from fxls.ide.listing.document import Destination, Document
from fxls.ide.listing.graph_table import table
from fxls.ide.listing.wording import place_link
from fxls.listing import Identity
from fxls.record import Compilation, Guards
from fxls.text import Point, Span

__all__ = [
    "ROWS",
    "RevisionRow",
    "Sheet",
    "guards_sheet",
    "revisions_sheet",
    "table_sheet",
]

ROWS = 20_000
"""The table of a larger graph ends here."""

_WIDEST = 60
"""Characters of a cell; what is longer is cut."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A text and the places in it that lead somewhere."""

    text: str
    links: tuple[DocumentLink, ...] = ()


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """A line of the list of revisions."""

    path: str
    time: float
    """Seconds since 1970."""
    entry: str | None
    nodes: int | None
    """None when the listing cannot be read."""


def table_sheet(document: Document) -> Sheet:
    """The table of a graph, as a text with a line for each node."""
    writer = _Writer()
    for block in table(document, ROWS):
        match block:
            case Line(parts):
                writer.line([parts])
            case Grid(header, rows):
                writer.line([])
                writer.grid(header, rows)
            case _:
                raise AssertionError(block)
    return writer.sheet()


def revisions_sheet(identity: Identity, rows: Iterable[RevisionRow]) -> Sheet:
    """The revisions of an identity, the newest first."""
    writer = _Writer()
    name = f"{identity.module}.{identity.qualname}"
    words = [name, identity.producer, identity.stage]
    writer.line([(" ".join(filter(None, words)),)])
    writer.line([])
    cells: list[tuple[tuple[Inline, ...], ...]] = []
    for row in rows:
        when = datetime.fromtimestamp(row.time).astimezone()
        file = row.path.replace("\\", "/").rpartition("/")[2]
        nodes = "" if row.nodes is None else str(row.nodes)
        link = Link(file, row.path, Point(0, 0))
        made = f"{when:%Y-%m-%d %H:%M:%S}"
        cells.append(((link,), (made,), (nodes,), (row.entry or "",)))
    writer.grid(("revision", "made", "nodes", "entry"), cells)
    return writer.sheet()


def guards_sheet(run: str, found: Iterable[tuple[Compilation, Guards]]) -> Sheet:
    """The guards of compilations, each with the line that it is there for."""
    writer = _Writer()
    writer.line([(f"The guards of run {run}.",)])
    writer.line([("A compilation is used again as long as all of its guards hold.",)])
    for compilation, guards in found:
        writer.line([])
        at = compilation.place
        where = (", ", place_link(at.place)) if at else ()
        count = counted(guards.count, "guard")
        title = f"{compilation.id}  {compilation.function}"
        writer.line([(title, *where, f": {count}")])
        for guard in guards.first:
            writer.line([(f"  {guard.text}",)])
            if guard.place is not None:
                link = place_link(guard.place.place)
                said = f": {guard.place.line.strip()}"
                writer.line([(f"      {guard.kind}, for ", link, said)])
            else:
                writer.line([(f"      {guard.kind}",)])
        if guards.count > len(guards.first):
            writer.line([(f"  … and {guards.count - len(guards.first):,} more",)])
    return writer.sheet()


class _Writer:
    """Writes lines, and notes where in them the links are."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._links: list[DocumentLink] = []

    def line(
        self, cells: Sequence[tuple[Inline, ...]], widths: Sequence[int] = ()
    ) -> None:
        line = ""
        for number, parts in enumerate(cells):
            start = len(line)
            for part in parts:
                text = _plain(part)
                room = _WIDEST - (len(line) - start) if widths else len(text)
                shown = text if len(text) <= room else text[: max(room - 1, 0)] + "…"
                if isinstance(part, Link) and room > 0:
                    self._link(part, len(line), len(shown))
                line += shown if room > 0 else ""
            if number < len(widths):
                line = line.ljust(start + widths[number]) + "  "
        self._lines.append(line.rstrip())

    def grid(
        self, header: Sequence[str], rows: Sequence[tuple[tuple[Inline, ...], ...]]
    ) -> None:
        written = [tuple((word,) for word in header), *rows]
        widths = [
            max(min(sum(len(_plain(p)) for p in parts), _WIDEST) for parts in column)
            for column in zip(*written, strict=True)
        ]
        for row in written:
            self.line(row, widths)

    def sheet(self) -> Sheet:
        return Sheet("\n".join(self._lines) + "\n", tuple(self._links))

    def _link(self, link: Link, column: int, length: int) -> None:
        line = len(self._lines)
        there = Span(link.point, link.point)
        self._links.append(
            DocumentLink(
                Span.of(line, column, line, column + length),
                Destination(link.path, there, there),
                link.text,
            )
        )


def _plain(part: Inline) -> str:
    text = part if isinstance(part, str) else part.text
    return " ".join(text.split("\n"))
