"""Values of `ide` as LSP types.

Positions are counted in the text that they are in, so whatever names a path needs to
look up that path's lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from lsprotocol import types as lsp

from fxls.ide.card import Hover
from fxls.ide.diagnostics import Diagnostic, Severity
from fxls.ide.document import Destination, Document, Jump
from fxls.ide.hints import Hint
from fxls.ide.values import short_form
from fxls.listing import Mark, Role
from fxls.lsp.encoding import Encoding
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
}

_HIGHLIGHT = {
    Role.BINDS: lsp.DocumentHighlightKind.Write,
    Role.READS: lsp.DocumentHighlightKind.Read,
    Role.FREES: lsp.DocumentHighlightKind.Text,
}

_SYMBOL = {
    "placeholder": lsp.SymbolKind.Variable,
    "get_attr": lsp.SymbolKind.Field,
    "call_module": lsp.SymbolKind.Module,
    "call_method": lsp.SymbolKind.Method,
    "call_function": lsp.SymbolKind.Function,
    "output": lsp.SymbolKind.Event,
}


@dataclass(frozen=True, slots=True)
class Client:
    """What a client understands, and with that the values it can be sent."""

    encoding: Encoding = Encoding.UTF16
    reads_markdown: bool = True
    takes_links: bool = False
    """Whether it takes `LocationLink`, which also says what was asked about."""

    @staticmethod
    def of(capabilities: lsp.ClientCapabilities, encoding: Encoding) -> Client:
        document = capabilities.text_document
        hover = document.hover if document else None
        definition = document.definition if document else None
        formats = (hover.content_format if hover else None) or ()
        return Client(
            encoding,
            lsp.MarkupKind.Markdown in formats,
            bool(definition and definition.link_support),
        )

    def range(self, span: Span, lines: LineTable | None) -> lsp.Range:
        """A span of a text; without the text, its columns as they are."""
        start, end = (self._position(p, lines) for p in (span.start, span.end))
        return lsp.Range(start, end)

    def hover(self, hover: Hover, lines: LineTable) -> lsp.Hover:
        if self.reads_markdown:
            kind, text = lsp.MarkupKind.Markdown, markdown(hover.card)
        else:
            kind, text = lsp.MarkupKind.PlainText, plain(hover.card)
        return lsp.Hover(lsp.MarkupContent(kind, text), self.range(hover.span, lines))

    def jump(
        self, jump: Jump, lines: LineTable, lines_of: Lines
    ) -> list[lsp.LocationLink] | list[lsp.Location]:
        lines_of = cache(lines_of)
        if not self.takes_links:
            return [self._location(there, lines_of) for there in jump.destinations]
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

    def hints(self, hints: Iterable[Hint], lines: LineTable) -> list[lsp.InlayHint]:
        return [
            lsp.InlayHint(
                self._position(hint.point, lines),
                hint.text,
                lsp.InlayHintKind.Type,
            )
            for hint in hints
        ]

    def symbols(self, document: Document) -> list[lsp.DocumentSymbol]:
        """The forward, and in it a symbol for each node."""
        whole = Span(document.start.whole.start, document.end)
        children = [
            self._symbol(document, node) for node in range(len(document.listing.nodes))
        ]
        return [
            lsp.DocumentSymbol(
                f"{document.listing.identity.qualname}.forward",
                lsp.SymbolKind.Function,
                self.range(whole, document.lines),
                self.range(document.start.focus, document.lines),
                children=children,
            )
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
            code=diagnostic.reason.value,
            source="fxls",
            related_information=related or None,
        )

    def _symbol(self, document: Document, node: int) -> lsp.DocumentSymbol:
        facts = document.listing.nodes[node]
        there = document.destination(node)
        value = f" {short_form(facts.value)}" if facts.value is not None else ""
        return lsp.DocumentSymbol(
            facts.name,
            _SYMBOL.get(facts.opcode, lsp.SymbolKind.Variable),
            self.range(there.whole, document.lines),
            self.range(there.focus, document.lines),
            f"{facts.target}{value}",
        )

    def _location(self, there: Destination, lines_of: Lines) -> lsp.Location:
        return lsp.Location(
            uri_of(there.path), self.range(there.focus, lines_of(there.path))
        )

    def _position(self, point: Point, lines: LineTable | None) -> lsp.Position:
        line = max(point.line, 0)
        if lines is None:
            return lsp.Position(line, max(point.column, 0))
        return lsp.Position(line, self.encoding.units(lines.line(line), point.column))
