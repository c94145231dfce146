"""A listing as a piece of HTML, for a notebook: its code with shapes, table and picture.

It stands in somebody else's page: all text is escaped, nothing is loaded, nothing runs,
and its colours are those of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from pathlib import PurePath

from fxls.counted import counted
from fxls.listing import Items, Listing, Role, Tensor, Value
from fxls.listing.picture import picture_of
from fxls.short_dtype import short_dtype

__all__ = ["file_name", "html_of"]

_LINES = 500
_ROWS = 500
"""A cell of a notebook holds so much; the file has all."""

_HEAD = ("name", "op", "target", "value", "source")
_CODE = "white-space:pre;overflow-x:auto"
"""A line of code is one line: a page of JupyterLab would break it in the middle."""
_HINT = "opacity:.6"
_TABLE = "text-align:left;font-family:monospace"


def file_name(path: str) -> str:
    return PurePath(path).name


def html_of(listing: Listing, name_of: Callable[[str], str] = file_name) -> str:
    """The listing; the table of its nodes and their picture are folded away.

    `name_of` gives the name by which a person knows a source.
    """
    identity = listing.identity
    made = [identity.qualname, identity.producer, identity.stage]
    count = len(listing.nodes)
    nodes = counted(count, "node")
    picture = picture_of(listing, lambda facts: _value(facts.value))
    return "\n".join(
        [
            "<div>",
            f"<div><b>{escape(', '.join(filter(None, made)))}</b>: {nodes}</div>",
            f'<pre style="{_CODE}">{_code(listing)}</pre>',
            f"<details><summary>{nodes} as a table</summary>",
            f'<table style="{_TABLE}">',
            *_rows(list(_cells(listing, name_of))),
            "</table>",
            *_left(count - _ROWS, "node"),
            "</details>",
            *(() if picture is None else _folded("Picture", picture)),
            "</div>",
        ]
    )


def _folded(summary: str, content: str) -> tuple[str, ...]:
    return "<details>", f"<summary>{summary}</summary>", content, "</details>"


def _code(listing: Listing) -> str:
    """The text, with the value of each node behind the name that binds it."""
    lines = listing.text.split("\n")
    shown = lines[:_LINES]
    for mark in reversed(listing.marks):
        if mark.role is not Role.BINDS or mark.line >= len(shown):
            continue
        said = _value(listing.nodes[mark.node].value)
        if said:
            line, end = shown[mark.line], mark.column + mark.length
            shown[mark.line] = f"{line[:end]}{_OPEN}: {said}{_CLOSE}{line[end:]}"
    text = escape("\n".join(shown))
    text = text.replace(_OPEN, f'<span style="{_HINT}">').replace(_CLOSE, "</span>")
    return "\n".join([text, *_left(len(lines) - _LINES, "line")])


# No listing has these, which Unicode leaves to nobody.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"


def _cells(
    listing: Listing, name_of: Callable[[str], str]
) -> Iterator[tuple[str, ...]]:
    for facts in listing.nodes[:_ROWS]:
        place = next(listing.places(facts.origin), None)
        where = f"{name_of(place.path)}:{place.span.start.line + 1}" if place else ""
        yield facts.name, facts.opcode, facts.target, _value(facts.value), where


def _rows(cells: list[tuple[str, ...]]) -> Iterator[str]:
    """The rows below a head; what is known of no node has no column."""
    known = [title for title, *column in zip(_HEAD, *cells, strict=True) if any(column)]
    yield _row("th", known)
    for row in cells:
        said = dict(zip(_HEAD, row, strict=True))
        yield _row("td", [said[title] for title in known])


def _row(kind: str, cells: Iterable[str]) -> str:
    written = "".join(
        f'<{kind} style="text-align:left">{escape(cell)}</{kind}>' for cell in cells
    )
    return f"<tr>{written}</tr>"


def _left(count: int, noun: str) -> list[str]:
    if count <= 0:
        return []
    return [f"… and {count:,} more {noun}{'' if count == 1 else 's'}"]


def _value(value: Value | None) -> str:
    """``f32[2, 3]``; nothing for what holds no tensor."""
    match value:
        case Tensor(shape=shape, dtype=dtype):
            return f"{short_dtype(dtype)}[{', '.join(map(str, shape))}]"
        case Items(items=items):
            inner = [_value(item) for item in items[:8]]
            more = ", …" if len(items) > len(inner) else ""
            return f"({', '.join(inner)}{more})" if any(inner) else ""
        case _:
            return ""
