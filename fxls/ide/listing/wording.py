"""Nodes and places in a few words, with links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from fxls.ide.listing.card import Code, Inline, Link
from fxls.ide.listing.document import Document
from fxls.ide.listing.value_text import short_form
from fxls.listing import Pieces, Place

__all__ = [
    "arguments",
    "clipped",
    "keywords",
    "node_line",
    "node_link",
    "place_link",
    "title",
]

_CHARACTERS = 400


def node_link(document: Document, node: int) -> Link:
    """The name of a node, leading to where it is bound."""
    name = document.listing.nodes[node].name
    return Link(name, document.path, document.bound_at(node))


def node_line(document: Document, node: int) -> tuple[Inline, ...]:
    """A node in a few words: opcode, target and value."""
    facts = document.listing.nodes[node]
    parts: list[Inline] = [facts.opcode]
    if facts.opcode not in {"placeholder", "output"} or facts.target != facts.name:
        parts += [" ", Code(facts.target)]
    if facts.value is not None:
        parts += [" → ", Code(short_form(facts.value))]
    return tuple(parts)


def place_link(place: Place) -> Link:
    """``net.py:12``, leading to the expression."""
    start = place.span.start
    return Link(f"{PurePath(place.path).name}:{start.line + 1}", place.path, start)


def arguments(document: Document, args: Sequence[Pieces]) -> tuple[Inline, ...]:
    parts: list[Inline] = []
    for pieces in args:
        parts += [", "] if parts else []
        parts += _written(document, pieces)
    return _bounded(parts)


def keywords(
    document: Document, kwargs: Sequence[tuple[str, Pieces]]
) -> tuple[Inline, ...]:
    parts: list[Inline] = []
    for name, pieces in kwargs:
        parts += [", "] if parts else []
        parts += [Code(f"{name}="), *_written(document, pieces)]
    return _bounded(parts)


def clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS else line[:_CHARACTERS] + "…"


def _written(document: Document, pieces: Pieces) -> list[Inline]:
    return [
        node_link(document, piece) if isinstance(piece, int) else Code(piece)
        for piece in pieces
    ]


def _bounded(parts: list[Inline]) -> tuple[Inline, ...]:
    """As many of the parts as a reader can take in."""
    kept: list[Inline] = []
    room = _CHARACTERS
    for part in parts:
        text = part if isinstance(part, str) else part.text
        if len(text) > room:
            clipped = text[:room] + "…"
            kept.append(Code(clipped) if isinstance(part, Code) else "…")
            break
        kept.append(part)
        room -= len(text)
    return tuple(kept)


def title(document: Document) -> str:
    """``Net``, with what sets it apart from other listings of the class."""
    identity = document.listing.identity
    words = [identity.qualname]
    if identity.producer != "engine":
        words.append(identity.producer)
    if identity.stage:
        words.append(identity.stage)
    if identity.rank is not None:
        words.append(f"rank {identity.rank}")
    return ", ".join(words)
