"""What a person can click or choose, as LSP types: lenses, fixes, completions, hints."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types as lsp

from fxls.ide.code_lenses import (
    Act,
    DebugEntry,
    Lens,
    OpenPlace,
    PeekPlaces,
    ShowTable,
    TraceEntry,
    WriteEntry,
)
from fxls.ide.completion import Completion, Offer
from fxls.ide.edits.fix import Fix
from fxls.ide.inlay_hints import Hint
from fxls.lsp import custom
from fxls.lsp.client import Client, Lines
from fxls.lsp.uris import uri_of
from fxls.text import LineTable

__all__ = ["changes", "code_action", "completion", "hint", "lens"]

_OFFERS = {
    Offer.ENTRY: lsp.CompletionItemKind.Snippet,
    Offer.CLASS: lsp.CompletionItemKind.Class,
    Offer.NAME: lsp.CompletionItemKind.Variable,
    Offer.ARGUMENT: lsp.CompletionItemKind.Property,
    Offer.FUNCTION: lsp.CompletionItemKind.Function,
}


def lens(
    client: Client, lens_: Lens, lines: LineTable, lines_of: Lines
) -> lsp.CodeLens:
    """A lens; one that the client cannot follow only says its title."""
    command = _command(client, lens_, lines, lines_of)
    return lsp.CodeLens(client.range(lens_.span, lines), command)


def hint(
    client: Client, hint_: Hint, lines: LineTable, tip: Callable[[Hint], str | None]
) -> lsp.InlayHint:
    """A hint; `tip` is asked at once only when the client will not ask later."""
    made = lsp.InlayHint(
        client.position(hint_.point, lines), hint_.text, lsp.InlayHintKind.Type
    )
    if not hint_.path:
        return made
    if client.abilities.resolves_hints:
        made.data = {"path": hint_.path, "node": hint_.node}
    else:
        made.tooltip = tip(hint_)
    return made


def code_action(
    client: Client,
    fix: Fix,
    lines: LineTable | None,
    diagnostic: lsp.Diagnostic | None,
) -> lsp.CodeAction:
    """A fix; `lines` are those of its file."""
    return lsp.CodeAction(
        fix.title,
        lsp.CodeActionKind.QuickFix if diagnostic else lsp.CodeActionKind.Refactor,
        [diagnostic] if diagnostic else None,
        is_preferred=fix.is_preferred or None,
        edit=changes(client, fix, lines, uri_of(fix.path)),
    )


def changes(
    client: Client, fix: Fix, lines: LineTable | None, uri: str
) -> lsp.WorkspaceEdit:
    """What a fix does to its file, which the client knows by a URI."""
    edits = (lsp.TextEdit(client.range(e.span, lines), e.text) for e in fix.edits)
    return lsp.WorkspaceEdit({uri: [*edits]})


def completion(
    client: Client, found: Completion, lines: LineTable
) -> lsp.CompletionItem:
    span = client.range(found.span, lines)
    return lsp.CompletionItem(
        found.label,
        kind=_OFFERS[found.offer],
        detail=found.detail or None,
        # What is in the text already is what a client compares with.
        filter_text=found.label if found.offer is not Offer.ENTRY else "# fxls:",
        text_edit=lsp.TextEdit(span, found.text),
    )


def _command(
    client: Client, lens_: Lens, lines: LineTable, lines_of: Lines
) -> lsp.Command:
    act = lens_.act
    if act is None:
        return lsp.Command(lens_.title, "")
    name, arguments = _named(client, act, lines, lines_of)
    if name == custom.OPEN and not client.abilities.shows_documents:
        name = ""
    if name == custom.WRITE_ENTRY and not client.abilities.applies_edits:
        name = ""
    needed = {custom.DEBUG, custom.SHOW_REFERENCES}
    if name in needed and name not in client.abilities.commands:
        name = ""
    return lsp.Command(lens_.title, name, arguments=arguments if name else None)


def _named(
    client: Client, act: Act, lines: LineTable, lines_of: Lines
) -> tuple[str, list[object]]:
    match act:
        case OpenPlace(there):
            place = client.location(there, lines_of)
            return custom.OPEN, [
                place.uri,
                place.range.start.line,
                place.range.start.character,
            ]
        case PeekPlaces(span, destinations):
            places = [client.location(there, lines_of) for there in destinations]
            start = client.position(span.start, lines)
            uri = places[0].uri if places else ""
            return custom.SHOW_REFERENCES, [uri, start, places]
        case ShowTable(path):
            return custom.TABLE, [uri_of(path)]
        case TraceEntry(path, expression):
            return custom.TRACE, [uri_of(path), expression]
        case DebugEntry(path, expression, listing):
            uri = uri_of(listing) if listing else None
            return custom.DEBUG, [uri_of(path), expression, uri]
        case WriteEntry(path, name):
            return custom.WRITE_ENTRY, [uri_of(path), name]
