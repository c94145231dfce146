"""Writes cards and jumps so that a test can compare the whole of them."""

from __future__ import annotations

from pathlib import PurePath

from fxls.ide.listing.card import (
    Card,
    Code,
    Field,
    Grid,
    Inline,
    Line,
    Link,
    Page,
    Snippet,
    TableLink,
)
from fxls.ide.listing.document import Jump

__all__ = ["card_text", "jump_text"]


def card_text(card: Card) -> str:
    """A card; code in backticks, a link as ``[text file:line:column]``."""
    out: list[str] = []
    for block in card:
        match block:
            case Line(parts):
                out.append(_inline(parts))
            case Field(name, parts):
                out.append(f"- {name}: {_inline(parts)}".rstrip())
            case Snippet(text):
                out += [f"    {line}".rstrip() for line in text.split("\n")]
            case Grid(header, rows):
                out.append(" | ".join(header))
                out += [" | ".join(map(_inline, row)).rstrip() for row in rows]
    return "\n".join(out)


def jump_text(jump: Jump | None) -> list[str]:
    """Each destination as ``file:line:column-line:column``, by its focus."""
    found: list[str] = []
    for there in jump.destinations if jump else ():
        assert there.whole.encloses(there.focus)
        a, b = there.focus.start, there.focus.end
        name = PurePath(there.path).name
        found.append(f"{name}:{a.line}:{a.column}-{b.line}:{b.column}")
    return found


def _inline(parts: tuple[Inline, ...]) -> str:
    return "".join(map(_part, parts))


def _part(part: Inline) -> str:
    match part:
        case Code(text):
            return f"`{text}`"
        case Link(text, path, point):
            return f"[{text} {PurePath(path).name}:{point.line}:{point.column}]"
        case Page(text, url):
            return f"[{text} {url}]"
        case TableLink(text, path):
            return f"[{text} table of {PurePath(path).name}]"
        case str():
            return part
