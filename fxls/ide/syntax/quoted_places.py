"""Where a place of an earlier text of a source is in the text of today."""

from __future__ import annotations

from collections.abc import Callable

from fxls.ide.syntax.line_map import LineMap
from fxls.listing import source_digest
from fxls.record import QuotedPlace
from fxls.text import LineTable, Span

__all__ = ["PlacesNow"]


class PlacesNow:
    """Follows places into one text; a place whose line was edited is gone.

    `text_of` gives the earlier text with a digest, while it is known. Without it, a
    line is found where it was, or else where the only line like it is.
    """

    def __init__(
        self, text: str, text_of: Callable[[str], str | None] = lambda _: None
    ) -> None:
        self._text = text
        self._text_of = text_of
        self._digest = source_digest(text.encode("utf-8", "surrogatepass"))
        self._lines = LineTable(text)
        self._moves: dict[str, LineMap | None] = {}
        self._found: dict[str, list[int]] | None = None

    def span(self, quoted: QuotedPlace) -> Span | None:
        """Where a place is now; None when it is gone."""
        span, digest = quoted.place.span, quoted.digest
        if digest == self._digest:
            return span
        if digest not in self._moves:
            before = self._text_of(digest) if digest else None
            moves = None if before is None else LineMap(before, self._text)
            self._moves[digest] = moves
        moves = self._moves[digest]
        return moves.after(span) if moves is not None else self._like(quoted)

    def _like(self, quoted: QuotedPlace) -> Span | None:
        """Where the line of a place is, as far as its text alone tells."""
        span, line = quoted.place.span, quoted.line
        if not line.strip():
            return None
        if self._lines.line(span.start.line).rstrip("\r") == line:
            at = span.start.line
        else:
            found = self._lines_like(line)
            if len(found) != 1:
                return None
            at = found[0]
        # Of further lines nobody knows whether they are as they were.
        is_one = span.start.line == span.end.line
        end = span.end.column if is_one else len(line.rstrip())
        return Span.of(at, span.start.column, at, end)

    def _lines_like(self, line: str) -> list[int]:
        if self._found is None:
            self._found = {}
            for number, text in enumerate(self._text.split("\n")):
                self._found.setdefault(text.rstrip("\r"), []).append(number)
        return self._found.get(line, [])
