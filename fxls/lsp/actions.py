"""What a person can choose, and reads beside the code, as LSP types.

These are hints, fixes and completions; `code_lenses` has the lenses.
"""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types as lsp

from fxls.ide.completion import Completion, Offer
from fxls.ide.edits.fix import Fix
from fxls.ide.inlay_hints import Hint
from fxls.lsp.client import Client
from fxls.lsp.uris import uri_of
from fxls.text import LineTable

__all__ = ["changes", "code_action", "completion", "hint"]

_OFFERS = {
    Offer.ENTRY: lsp.CompletionItemKind.Snippet,
    Offer.CLASS: lsp.CompletionItemKind.Class,
    Offer.NAME: lsp.CompletionItemKind.Variable,
    Offer.ARGUMENT: lsp.CompletionItemKind.Property,
    Offer.FUNCTION: lsp.CompletionItemKind.Function,
}


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


def new_file(text: str, uri: str) -> lsp.WorkspaceEdit:
    """A file that is not there yet."""
    start = lsp.Position(0, 0)
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri)
    edit = lsp.TextEdit(lsp.Range(start, start), text)
    return lsp.WorkspaceEdit(
        document_changes=[
            lsp.CreateFile(uri),
            lsp.TextDocumentEdit(document, [edit]),
        ]
    )


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
