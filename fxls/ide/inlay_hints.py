"""What stands beside the code without being asked: shapes behind names."""

from __future__ import annotations

from dataclasses import dataclass

from fxls.ide.listing.document import Document
from fxls.ide.listing.value_text import holds_tensor, long_form, short_form
from fxls.listing import Role
from fxls.text import Point

__all__ = ["Hint", "hints", "tip"]


@dataclass(frozen=True, slots=True)
class Hint:
    """A text to show at a point, between the characters of a line."""

    point: Point
    text: str
    path: str = ""
    """The listing that the hint is about."""
    node: int = -1


def hints(document: Document, first: int, last: int) -> tuple[Hint, ...]:
    """Shape and dtype of each tensor, or tensors, that the lines bind."""
    found: list[Hint] = []
    for mark in document.marks_in(first, last):
        value = document.listing.nodes[mark.node].value
        if mark.role is Role.BINDS and value is not None and holds_tensor(value):
            text = f": {short_form(value)}"
            found.append(Hint(mark.span.end, text, document.path, mark.node))
    return tuple(found)


def tip(document: Document, node: int) -> str | None:
    """What a hint says when somebody points at it; None for a node that is not there."""
    if not 0 <= node < len(document.listing.nodes):
        return None
    facts = document.listing.nodes[node]
    value = f": {long_form(facts.value)}" if facts.value is not None else ""
    return f"{facts.name} = {facts.target}{value}"
