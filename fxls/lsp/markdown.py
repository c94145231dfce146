"""A card as Markdown with links, or as plain text without them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from urllib.parse import quote

from fxls.ide.listing.card import (
    Block,
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
from fxls.lsp import custom
from fxls.lsp.uris import link_to, uri_of

__all__ = ["markdown", "plain"]

_TableWords = Callable[[TableLink], str]

_SPECIAL = re.compile(r"([\\`*{}\[\]<>#|~]|(?<![^\W_])_|_(?![^\W_]))")
"""An underscore inside a word is no markup."""


def markdown(card: Card, *, runs_commands: bool = False) -> str:
    """The card for a client that shows Markdown; links are ``file:`` URIs.

    Where the client runs commands, those are links too.
    """
    link = _command if runs_commands else _text
    chunks: list[str] = []
    for listed, blocks in groupby(card, lambda block: isinstance(block, Field)):
        # The items of a list follow each other; all else has a blank line between.
        written = [_block(block, link) for block in blocks]
        chunks += ["\n".join(written)] if listed else written
    return "\n\n".join(chunks)


def plain(card: Card) -> str:
    """The card for a client, or a terminal, that shows text as it is."""
    out: list[str] = []
    for block in card:
        match block:
            case Line(parts):
                out.append(_words(parts))
            case Field(name, parts):
                label = f"{name}: " if name else ""
                out.append(f"  {label}{_words(parts) or '-'}")
            case Snippet(text):
                out += [f"    {line}" for line in text.split("\n")]
            case Grid(header, rows):
                out += _aligned([header, *(tuple(map(_words, row)) for row in rows)])
    return "\n".join(out)


def _block(block: Block, link: _TableWords) -> str:
    match block:
        case Line(parts):
            return _inline(parts, link)
        case Field(name, parts):
            label = f"**{name}**: " if name else ""
            return f"- {label}{_inline(parts, link) or '—'}"
        case Snippet(text):
            fence = _fence(text, shortest=3)
            return f"{fence}python\n{text}\n{fence}"
        case Grid(header, rows):
            head = [_row(map(_escaped, header)), _row(["---"] * len(header))]
            lines = [
                _row(_inline(tuple(map(_unbroken, cell)), link) for cell in row)
                for row in rows
            ]
            return "\n".join([*head, *lines])


def _inline(parts: tuple[Inline, ...], link: _TableWords) -> str:
    whole: list[Inline] = []
    for part in parts:
        before = whole[-1] if whole else None
        if isinstance(part, Code) and isinstance(before, Code):
            # The backticks of two that touch would be read as one fence.
            whole[-1] = Code(before.text + part.text)
        else:
            whole.append(part)
    return "".join(_part(part, link) for part in whole)


def _part(part: Inline, link: _TableWords) -> str:
    match part:
        case TableLink():
            return link(part)
        case Code(text):
            return _code(text)
        case Link(text, path, point):
            return f"[{_code(text)}]({link_to(path, point)})"
        case Page(text, url):
            return f"[{_escaped(text)}]({url})"
        case str():
            return _escaped(part)


def _text(table: TableLink) -> str:
    return _escaped(table.text)


def _command(table: TableLink) -> str:
    arguments = quote(json.dumps([uri_of(table.path)]), safe="")
    return f"[{_escaped(table.text)}](command:{custom.TABLE}?{arguments})"


def _unbroken(part: Inline) -> Inline:
    """A narrow hover breaks cells at spaces, until a row is as tall as a paragraph."""
    if isinstance(part, str):
        return part.replace(" ", "\N{NO-BREAK SPACE}")
    return replace(part, text=part.text.replace(" ", "\N{NO-BREAK SPACE}"))


def _code(text: str) -> str:
    """Inline code, whatever the text holds; Markdown joins its lines anyway."""
    text = " ".join(text.split("\n"))
    fence = _fence(text, shortest=1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _fence(text: str, *, shortest: int) -> str:
    """A run of backticks that the text does not hold."""
    runs = [len(run) for run in re.findall(r"`+", text)]
    return "`" * max([shortest, *(run + 1 for run in runs)])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _row(cells: Iterable[str]) -> str:
    # A bar ends a cell even inside code, unless it is escaped.
    bars = (re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in cells)
    return f"| {' | '.join(bars)} |"


def _words(parts: tuple[Inline, ...]) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
