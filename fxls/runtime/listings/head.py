"""The head of a listing: the comment above its code, and what leads somewhere in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fxls.listing import HeadLink, ToClass, ToLine, ToParent

__all__ = ["Head", "Leading", "Words", "head_of"]


@dataclass(frozen=True, slots=True)
class Leading:
    """Words that lead somewhere."""

    text: str
    to: ToClass | ToParent | ToLine


Words = tuple[str | Leading, ...]
"""A line of the head, without the sign of a comment."""


@dataclass(frozen=True, slots=True)
class Head:
    """The lines as they stand in the text, and where in them the links are."""

    lines: tuple[str, ...]
    links: tuple[HeadLink, ...]


def head_of(rows: Iterable[Words]) -> Head:
    """The head that says this; it begins with the first line of the text."""
    lines: list[str] = []
    links: list[HeadLink] = []
    for row in rows:
        line = "# "
        for words in row:
            text = words if isinstance(words, str) else words.text
            if not isinstance(words, str):
                links.append(HeadLink(len(lines), len(line), len(text), words.to))
            line += text
        lines.append(line.rstrip())
    return Head(tuple(lines), tuple(links))
