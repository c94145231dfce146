"""What the command line shows: failures, listings and tables. Values in, text out.

Lines and columns that a person or a program reads here count from one, as in every
compiler's messages.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fxls import regular_file
from fxls.counted import counted
from fxls.entry import Entry
from fxls.ide.listing.value_text import dtype_of, shape_of
from fxls.listing import Failure, Listing, Place, Reason, source_digest
from fxls.record import QuotedPlace
from fxls.store import Revision
from fxls.text import LineTable
from fxls.wire import Traced

__all__ = [
    "CHANGED",
    "Sources",
    "TraceResult",
    "age",
    "nodes",
    "place_as_json",
    "position",
    "revision_as_json",
    "rows",
    "shown",
    "snippet",
    "summary",
]

_NOTES = 6
"""So many callers are shown."""
_WIDEST = 48
"""Characters of source that fit into a table."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files that places point into, and the folder that paths are written from."""

    folder: Path
    _tables: dict[str, LineTable] = field(default_factory=dict[str, LineTable])
    _digests: dict[str, str] = field(default_factory=dict[str, str])

    def name(self, path: str) -> str:
        """The path, short when the file is below the folder."""
        return (
            os.path.relpath(path, self.folder)
            if Path(path).is_relative_to(self.folder)
            else path
        )

    def lines(self, path: str) -> LineTable:
        """The lines of a file; none when it cannot be read."""
        table = self._tables.get(path)
        if table is None:
            try:
                data = regular_file.read(path, regular_file.SOURCE_BYTES)
                text = data.decode("utf-8-sig", errors="replace")
                self._digests[path] = source_digest(data)
            except (OSError, ValueError):
                text = ""
            table = self._tables[path] = LineTable(text)
        return table

    def is_as(self, path: str, digests: Collection[str]) -> bool:
        """Whether a file is as it was when it had one of these digests."""
        self.lines(path)
        return self._digests.get(path) in digests


CHANGED = "(the source is not as it was)"
"""Stands where code would be quoted that is another one by now."""


@dataclass(frozen=True, slots=True)
class TraceResult:
    """What became of one entry; without an entry, of looking for one."""

    entry: Entry | None
    failure: Failure | None = None
    path: Path | None = None
    listing: Listing | None = None
    traced: Traced | None = None

    def as_json(self) -> dict[str, Any]:
        """For a program."""
        return {
            "entry": self.entry and _entry_as_json(self.entry),
            "listing": self._listing_as_json(),
            "failure": self.failure and _failure_as_json(self.failure),
        }

    def _listing_as_json(self) -> dict[str, Any] | None:
        if self.listing is None or self.traced is None:
            return None
        return {
            "path": str(self.path),
            "identity": msgspec.to_builtins(self.listing.identity),
            "seconds": round(self.traced.seconds, 6),
            "sources": list(self.traced.sources),
            "parameters": self.listing.parameters,
            "nodes": _nodes_as_json(self.listing),
        }


def shown(failure: Failure, entry: Entry | None, sources: Sources) -> str:
    """A failure as compilers show it: place, message, source line, callers, advice."""
    places = failure.places
    first = _where(places[0], sources) if places else _beginning(entry, sources)
    is_shown = failure.instead is not None
    lines = [f"{first}{'note' if is_shown else 'error'}: {failure.message}"]
    if places:
        lines += snippet(places[0], sources)
    for place in places[1 : _NOTES + 1]:
        lines.append(f"{_where(place, sources)}note: called here, in {place.function}")
        lines += snippet(place, sources)
    if len(places) > _NOTES + 1:
        more = counted(len(places) - _NOTES - 1, "more caller is", "more callers are")
        lines.append(f"note: {more} not shown")
    if entry is not None and entry.span is None and _is_about_entry(failure):
        lines.append(f"note: the entry is {entry.expression}")
    lines += [f"note: {other.message}" for other in failure.others]
    if is_shown:
        lines.append(f"note: {failure.instead} captures it: its graph is shown")
    if failure.advice:
        lines.append(f"help: {failure.advice}")
    return "\n".join(lines)


def nodes(listing: Listing, sources: Sources) -> str:
    """The node table of a listing."""
    head = ("name", "opcode", "target", "shape", "dtype", "source")
    return rows(
        head,
        [
            (
                facts.name,
                facts.opcode,
                facts.target,
                shape_of(facts.value),
                dtype_of(facts.value),
                _source_of(listing, index, sources),
            )
            for index, facts in enumerate(listing.nodes)
        ],
    )


def rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table; columns in which nothing stands are left out."""
    table = [tuple(head), *(tuple(row) for row in body)]
    columns = [
        column for column in zip(*table, strict=True) if any(column[1:]) or not body
    ]
    widths = [max(map(_width, column)) for column in columns]
    return "\n".join(
        "  ".join(
            cell + " " * (width - _width(cell))
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in zip(*columns, strict=True)
    )


def age(seconds: float) -> str:
    """How long ago, in the largest unit that fits."""
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(seconds // unit)
        if count >= 1:
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "now"


def summary(listing: Listing) -> str:
    """What a listing is of, in one line."""
    words = [counted(len(listing.nodes), "node")]
    if listing.parameters is not None:
        words.append(counted(listing.parameters, "parameter"))
    identity = listing.identity
    return f"{identity.module}.{identity.qualname}: {', '.join(words)}"


def _nodes_as_json(listing: Listing) -> list[dict[str, Any]]:
    return [
        {
            "name": facts.name,
            "opcode": facts.opcode,
            "target": facts.target,
            "shape": getattr(facts.value, "shape", None),
            "dtype": dtype_of(facts.value) or None,
            "value": msgspec.to_builtins(facts.value),
            "users": [listing.nodes[user].name for user in facts.users],
            "line": facts.line + 1,
            "origin": [place_as_json(place) for place in listing.places(facts.origin)],
        }
        for facts in listing.nodes
    ]


def _entry_as_json(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "expression": entry.expression,
        "kind": entry.kind.value,
        "line": entry.span and entry.span.start.line + 1,
    }


def _failure_as_json(failure: Failure) -> dict[str, Any]:
    return {
        "reason": failure.reason.value,
        "message": failure.message,
        "advice": failure.advice,
        "places": [place_as_json(place) for place in failure.places],
    }


def revision_as_json(revision: Revision, count: int | None) -> dict[str, Any]:
    return {
        "identity": msgspec.to_builtins(revision.identity),
        "path": str(revision.path),
        "nodes": count,
        "time": revision.time,
        "entry": revision.entry,
        "sources": list(revision.sources),
    }


def place_as_json(place: Place) -> dict[str, Any]:
    """A place for programs; lines and columns count from one."""
    return {
        "path": place.path,
        "function": place.function,
        "line": place.span.start.line + 1,
        "column": place.span.start.column + 1,
        "end_line": place.span.end.line + 1,
        "end_column": place.span.end.column + 1,
    }


def position(quoted: QuotedPlace) -> str:
    """The line and the column of a place, from one; where nobody read the line, as that
    of an imported log, its columns are not known either.
    """
    start = quoted.place.span.start
    return (
        f"{start.line + 1}:{start.column + 1}" if quoted.line else f"{start.line + 1}"
    )


def _source_of(listing: Listing, node: int, sources: Sources) -> str:
    origin = listing.origin(node)
    if origin is None:
        return ""
    place = origin.places[0]
    code = " ".join(sources.lines(place.path).slice(place.span).split())
    if len(code) > _WIDEST:
        code = code[: _WIDEST - 3] + "..."
    return f"{sources.name(place.path)}:{place.span.start.line + 1}: {code}"


def _where(place: Place, sources: Sources) -> str:
    start = place.span.start
    return f"{sources.name(place.path)}:{start.line + 1}:{start.column + 1}: "


def _beginning(entry: Entry | None, sources: Sources) -> str:
    return "fxls: " if entry is None else f"{sources.name(entry.path)}: "


def _is_about_entry(failure: Failure) -> bool:
    return failure.reason not in (Reason.WORKER, Reason.STORE, Reason.NOT_FOUND)


def snippet(place: Place, sources: Sources) -> list[str]:
    """The line that a place begins in, with carets under the part that is meant."""
    start, end = place.span.start, place.span.end
    line = sources.lines(place.path).line(start.line)
    if not line.strip():
        return []
    stop = len(line) if end.line > start.line else min(end.column, len(line))
    meant = line[start.column : stop].rstrip()
    # A tab stays a tab, so that the carets stand right at every width of tabs.
    before = "".join(
        "\t" if char == "\t" else " " * _width(char) for char in line[: start.column]
    )
    margin = " " * len(str(start.line + 1))
    return [
        f" {start.line + 1} | {line.rstrip()}",
        f" {margin} | {before}{'^' * max(_width(meant), 1)}",
    ]


def _width(text: str) -> int:
    """How many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))
