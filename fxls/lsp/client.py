"""Values of `ide` as LSP types.

Positions are counted in the text that they are in, so whatever names a path needs to
look up that path's lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from lsprotocol import types as lsp

from fxls.ide.diagnostics import Diagnostic, Severity
from fxls.ide.listing.card import Hover
from fxls.ide.listing.document import Destination, Document, Jump
from fxls.listing import Mark, Role
from fxls.lsp import from_lsp
from fxls.lsp.abilities import Abilities
from fxls.lsp.markdown import markdown, plain
from fxls.lsp.uris import uri_of
from fxls.text import LineTable, Point, Span

__all__ = ["Client", "Lines"]

Lines = Callable[[str], LineTable | None]
"""The lines of a file by its path; None when it cannot be read."""

_SEVERITY = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
    Severity.HINT: lsp.DiagnosticSeverity.Hint,
}

_HIGHLIGHT = {
    Role.BINDS: lsp.DocumentHighlightKind.Write,
    Role.READS: lsp.DocumentHighlightKind.Read,
    Role.FREES: lsp.DocumentHighlightKind.Text,
}


class Client:
    """A client, and the values that it can be sent."""

    def __init__(self, abilities: Abilities | None = None) -> None:
        self.abilities = abilities or Abilities()
        self.encoding = self.abilities.encoding

    def range(self, span: Span, lines: LineTable | None) -> lsp.Range:
        """A span of a text; without the text, its columns as they are."""
        start, end = (self.position(p, lines) for p in (span.start, span.end))
        return lsp.Range(start, end)

    def hover(self, hover: Hover, lines: LineTable) -> lsp.Hover:
        if self.abilities.reads_markdown:
            runs = self.abilities.runs_links
            text = markdown(hover.card, runs_commands=runs)
            kind = lsp.MarkupKind.Markdown
        else:
            kind, text = lsp.MarkupKind.PlainText, plain(hover.card)
        return lsp.Hover(lsp.MarkupContent(kind, text), self.range(hover.span, lines))

    def jump(
        self, jump: Jump, lines: LineTable, lines_of: Lines
    ) -> list[lsp.LocationLink] | list[lsp.Location]:
        lines_of = cache(lines_of)
        if not self.abilities.takes_links:
            return [self.location(there, lines_of) for there in jump.destinations]
        asked = self.range(jump.span, lines)
        return [
            lsp.LocationLink(
                uri_of(there.path),
                self.range(there.whole, lines_of(there.path)),
                self.range(there.focus, lines_of(there.path)),
                asked,
            )
            for there in jump.destinations
        ]

    def references(
        self, marks: Iterable[Mark], document: Document
    ) -> list[lsp.Location]:
        uri = uri_of(document.path)
        return [lsp.Location(uri, self.range(m.span, document.lines)) for m in marks]

    def highlights(
        self, marks: Iterable[Mark], document: Document
    ) -> list[lsp.DocumentHighlight]:
        return [
            lsp.DocumentHighlight(
                self.range(m.span, document.lines), _HIGHLIGHT[m.role]
            )
            for m in marks
        ]

    def diagnostic(self, diagnostic: Diagnostic, lines_of: Lines) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(
                    uri_of(other.path), self.range(other.span, lines_of(other.path))
                ),
                other.message,
            )
            for other in diagnostic.related
        ]
        return lsp.Diagnostic(
            self.range(diagnostic.span, lines_of(diagnostic.path)),
            diagnostic.message,
            severity=_SEVERITY[diagnostic.severity],
            code=diagnostic.code or diagnostic.reason.value,
            code_description=lsp.CodeDescription(diagnostic.page)
            if diagnostic.page
            else None,
            source="fxls",
            tags=[lsp.DiagnosticTag.Unnecessary] if diagnostic.unnecessary else None,
            related_information=related or None,
        )

    def location(self, there: Destination, lines_of: Lines) -> lsp.Location:
        """A place; what the cursor lands on alone."""
        return lsp.Location(
            uri_of(there.path), self.range(there.focus, lines_of(there.path))
        )

    def span_in(self, span: lsp.Range, lines: LineTable) -> Span:
        """A range of a text; what is outside of it goes to the nearest inside."""
        start, end = (
            from_lsp.point(at, lines, self.encoding) for at in (span.start, span.end)
        )
        return Span(start, max(start, end))

    def position(self, point: Point, lines: LineTable | None) -> lsp.Position:
        return lsp.Position(*self.units(point, lines))

    def units(self, point: Point, lines: LineTable | None) -> tuple[int, int]:
        """Line and character of a point; without the text, its column as it is."""
        line = max(point.line, 0)
        if lines is None:
            return line, max(point.column, 0)
        return line, self.encoding.units(lines.line(line), point.column)
