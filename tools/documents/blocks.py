"""Finds the blocks of code in a document, and says why one of them cannot be run.

A block is what stands between fences, or behind a line that ends with two colons. In a
document that has neither, it is each run of lines that are Python. Pages that were saved
may have lost the indentation of their code, or have lines of a drawn table between the
lines of their text.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.documents.indentation import restored, statements

__all__ = ["Block", "blocks", "documents"]

Line = tuple[int, str]
"""A line of a document with its number."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block: the line of the document where its code begins, and the code."""

    line: int
    source: str
    refused: str = ""
    """Why it cannot be run; empty if it can."""


def documents(folder: Path) -> list[Path]:
    """The documents of a folder, by name."""
    return sorted(path for path in folder.iterdir() if path.suffix == ".txt")


def blocks(text: str) -> list[Block]:
    """The blocks of a document, in their order."""
    lines = list(_without_drawn_lines(text))
    marked = any(_is_mark(line) for _, line in lines)
    found = _marked(lines) if marked else _unmarked(lines)
    return [_block(line, source) for line, source in found]


def _without_drawn_lines(text: str) -> Iterator[Line]:
    """The lines, less those that only draw the cells of a table around them."""
    written = True
    for number, line in enumerate(text.splitlines(), 1):
        if line == "||":
            if not written:
                yield number, ""
            written = False
        elif line != "|":
            yield number, line
            written = True


def _is_mark(line: str) -> bool:
    return line.lstrip().startswith("```") or _announces(line)


def _announces(line: str) -> bool:
    return line.endswith("::") and not line.lstrip().startswith("..")


def _marked(lines: Sequence[Line]) -> Iterator[Line]:
    at = 0
    while at < len(lines):
        line = lines[at][1]
        at += 1
        if line.lstrip().startswith("```"):
            end = at
            while end < len(lines) and not lines[end][1].lstrip().startswith("```"):
                end += 1
            yield from _trimmed(lines[at:end])
            at = end + 1
        elif _announces(line):
            while at < len(lines) and not lines[at][1].strip():
                at += 1
            end = _end_of_indented(lines, at, _margin(line))
            if end == at:
                found = list(statements([text for _, text in lines[at:]]))
                end += found[-1].start + len(found[-1].lines) if found else 1
            yield from _trimmed(lines[at:end])
            at = end


def _end_of_indented(lines: Sequence[Line], at: int, margin: int) -> int:
    """Where the lines end that stand further in than the margin."""
    end = at
    for i in range(at, len(lines)):
        if not lines[i][1].strip():
            continue
        if _margin(lines[i][1]) <= margin:
            break
        end = i + 1
    return end


def _unmarked(lines: Sequence[Line]) -> Iterator[Line]:
    at = 0
    while at < len(lines):
        found = list(statements([text for _, text in lines[at:]]))
        if not found or isinstance(found[0].tree, ast.Return) or found[0].goes_on:
            at += 1
            continue
        end = at + found[-1].start + len(found[-1].lines)
        yield from _trimmed(lines[at:end])
        at = end


def _trimmed(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines as one text, with the number of the first one that is not blank."""
    written = [number for number, line in lines if line.strip()]
    if written:
        # Blank lines are kept inside, where they say what belongs together.
        yield written[0], "\n".join(line for n, line in lines if n >= written[0])


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block(line: int, text: str) -> Block:
    source = _dedented(text)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        wrong = error
        found = list(statements(text.splitlines()))
        source = restored(found)
        try:
            tree = ast.parse(source)
        except SyntaxError as failed:
            wrong, tree = failed, None
        read = found[-1].start + len(found[-1].lines) if found else 0
        if tree is None or "".join(text.splitlines()[read:]).strip():
            return Block(line, text, f"it is not Python: {wrong.msg}")
    if (left := _left_open(tree)) is not None:
        return Block(line, source, f"it is left incomplete: `{left}`")
    return Block(line, source)


def _dedented(text: str) -> str:
    """The text without the margin of its first line; texts inside may begin before it."""
    margin = text[: _margin(text)]
    return "\n".join(line.removeprefix(margin) for line in text.splitlines()) + "\n"


def _left_open(tree: ast.AST) -> str | None:
    """A statement with ``...`` where the reader is to write something."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(value=ast.Constant(value=value))
                | ast.Expr(value=ast.Constant(value=value))
                | ast.Return(value=ast.Constant(value=value))
            ) if value is ...:
                return textwrap.shorten(ast.unparse(node), 60)
            case _:
                pass
    return None
