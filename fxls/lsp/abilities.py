"""What a client said that it understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from lsprotocol import types as lsp

from fxls.lsp.encoding import Encoding

__all__ = ["Abilities", "abilities_of"]


@dataclass(frozen=True, slots=True)
class Abilities:
    """By default those of a client that said nothing."""

    encoding: Encoding = Encoding.UTF16
    reads_markdown: bool = True
    takes_links: bool = False
    """Whether it takes `LocationLink`, which also says what was asked about."""
    resolves_hints: bool = False
    """Whether it asks for the tooltip of a hint when that is about to be shown."""
    resolves_symbols: bool = False
    """Whether it asks where a workspace symbol is when somebody goes there."""
    shows_documents: bool = False
    """Whether the server may open documents in it."""
    applies_edits: bool = False
    """Whether the server may change documents in it."""
    creates_files: bool = False
    """Whether an edit may make a file."""
    shows_progress: bool = False
    asks_questions: bool = False
    """Whether it shows a question of the server, with answers to choose from."""
    reads_content: bool = False
    """Whether it asks for the text of `fxls:` documents by itself."""
    pulls_diagnostics: bool = False
    """Whether it asks for diagnostics, also when it is told that there are others."""
    tells_settings: bool = False
    """Whether it can be asked for settings."""
    watches_files: bool = False
    refreshes: frozenset[str] = frozenset()
    """The kinds of answers that it asks for again when it is told to."""
    takes_status: bool = False
    takes_revisions: bool = False
    """Whether it moves tabs and breakpoints from revision to revision."""
    takes_changes: bool = False
    """Whether it wants to hear of each change of a store."""
    takes_runs: bool = False
    """Whether it wants to hear of runs that begin, or say more."""
    runs_links: bool = False
    """Whether a link of Markdown may be a command."""
    commands: frozenset[str] = frozenset()
    """Commands of the client that a lens may name."""


def abilities_of(said: lsp.ClientCapabilities, encoding: Encoding) -> Abilities:
    document = said.text_document or lsp.TextDocumentClientCapabilities()
    workspace = said.workspace or lsp.WorkspaceClientCapabilities()
    window = said.window or lsp.WindowClientCapabilities()
    hover, hints = document.hover, document.inlay_hint
    watched = workspace.did_change_watched_files
    ours = _experimental(said)
    return Abilities(
        encoding,
        reads_markdown=lsp.MarkupKind.Markdown
        in ((hover.content_format if hover else None) or ()),
        takes_links=bool(document.definition and document.definition.link_support),
        resolves_hints=bool(
            hints
            and hints.resolve_support
            and "tooltip" in hints.resolve_support.properties
        ),
        resolves_symbols="location.range" in _resolved(workspace.symbol),
        shows_documents=bool(window.show_document and window.show_document.support),
        applies_edits=bool(workspace.apply_edit),
        creates_files=_creates_files(workspace.workspace_edit),
        shows_progress=bool(window.work_done_progress),
        asks_questions=window.show_message is not None,
        reads_content=workspace.text_document_content is not None,
        pulls_diagnostics=bool(
            document.diagnostic
            and workspace.diagnostics
            and workspace.diagnostics.refresh_support
        ),
        tells_settings=bool(workspace.configuration),
        watches_files=bool(watched and watched.dynamic_registration),
        refreshes=_refreshes(workspace),
        takes_status=bool(ours.get("serverStatusNotification")),
        takes_revisions=bool(ours.get("fxlsRevisions")),
        takes_changes=bool(ours.get("fxlsChanges")),
        takes_runs=bool(ours.get("fxlsRuns")),
        runs_links=bool(ours.get("commandLinks")),
        commands=_commands(ours.get("commands")),
    )


def _creates_files(edit: lsp.WorkspaceEditClientCapabilities | None) -> bool:
    operations = (edit.resource_operations if edit else None) or ()
    takes_changes = bool(edit and edit.document_changes)
    return takes_changes and lsp.ResourceOperationKind.Create in operations


def _resolved(symbol: lsp.WorkspaceSymbolClientCapabilities | None) -> Sequence[str]:
    resolved = symbol.resolve_support if symbol else None
    return resolved.properties if resolved else ()


def _experimental(said: lsp.ClientCapabilities) -> Mapping[str, Any]:
    """What is in no protocol, as rust-analyzer's clients say it."""
    value = said.experimental
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _commands(value: object) -> frozenset[str]:
    if not isinstance(value, dict):
        return frozenset()
    names = cast("dict[str, object]", value).get("commands")
    found = cast("list[object]", names) if isinstance(names, list) else []
    return frozenset(name for name in found if isinstance(name, str))


def _refreshes(workspace: lsp.WorkspaceClientCapabilities) -> frozenset[str]:
    kinds = {
        "inlayHint": workspace.inlay_hint,
        "codeLens": workspace.code_lens,
        "semanticTokens": workspace.semantic_tokens,
        "inlineValue": workspace.inline_value,
    }
    return frozenset(
        kind
        for kind, said in kinds.items()
        if said is not None and said.refresh_support
    )
