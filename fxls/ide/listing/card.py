"""What a hover shows, as a value: blocks of text, code and links.

A link is a path and a point; only `lsp` knows how a client wants it written.
"""

from __future__ import annotations

from dataclasses import dataclass

from fxls.text import Point, Span

__all__ = [
    "Block",
    "Card",
    "Code",
    "Field",
    "Grid",
    "Hover",
    "Inline",
    "Line",
    "Link",
    "Page",
    "Snippet",
    "TableLink",
]


@dataclass(frozen=True, slots=True)
class Code:
    """Text that is code."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A piece of code that leads to a place."""

    text: str
    path: str
    point: Point


@dataclass(frozen=True, slots=True)
class Page:
    """Words that lead to a page of the web."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class TableLink:
    """Words that lead to the table of a listing, where a client can follow them."""

    text: str
    path: str


Inline = str | Code | Link | Page | TableLink


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph."""

    parts: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of what is known of something."""

    name: str
    parts: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines of Python."""

    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; every row has as many cells as the header, and is one line."""

    header: tuple[str, ...]
    rows: tuple[tuple[tuple[Inline, ...], ...], ...]


Block = Line | Field | Snippet | Grid
Card = tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Hover:
    """A card, and the span of the text that it is about."""

    span: Span
    card: Card
