"""What a document says after a client changed parts of it."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types as lsp

from fxls.lsp.encoding import Encoding
from fxls.lsp.from_lsp import point
from fxls.text import line_table

__all__ = ["changed"]


def changed(
    text: str, changes: Iterable[lsp.TextDocumentContentChangeEvent], encoding: Encoding
) -> str:
    r"""A text after changes, each of which is about what the one before it left.

    Lines end as in every position that is exchanged with a client: with ``\n``, and with
    no other character that Python takes for the end of a line. A ``\r`` by itself, which
    the protocol takes for one as well, is in no text of VS Code, and Vim and Emacs count
    it as a character.
    """
    for change in changes:
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            lines = line_table(text)
            start = lines.offset(point(change.range.start, lines, encoding))
            end = lines.offset(point(change.range.end, lines, encoding))
            text = text[:start] + change.text + text[max(start, end) :]
        else:
            text = change.text
    return text
