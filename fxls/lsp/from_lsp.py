"""What a client sends, as values of fxls."""

from __future__ import annotations

from lsprotocol import types as lsp

from fxls.lsp.encoding import Encoding
from fxls.text import LineTable, Point

__all__ = ["point"]


def point(position: lsp.Position, lines: LineTable, encoding: Encoding) -> Point:
    """A position of a text; positions outside go to the nearest place inside."""
    last = len(lines) - 1
    if position.line > last:
        return Point(last, len(lines.line(last)))
    line = max(position.line, 0)
    return Point(line, encoding.column(lines.line(line), position.character))
