"""Diagnostics for clients that ask for them, of one document or of all files."""

from __future__ import annotations

from lsprotocol import types as lsp

from fxls.lsp.uris import path_of
from fxls.serving.connection import Connection
from fxls.serving.transport.protocol import server_cancelled

__all__ = ["on_diagnostic", "on_workspace_diagnostic"]

_Document = (
    lsp.RelatedFullDocumentDiagnosticReport
    | lsp.RelatedUnchangedDocumentDiagnosticReport
)


def on_diagnostic(ls: Connection, params: lsp.DocumentDiagnosticParams) -> _Document:
    path = path_of(params.text_document.uri)
    if path is None:
        return lsp.RelatedFullDocumentDiagnosticReport([])
    ls.published.note(path, ls.session.diagnostics(path))
    number = ls.published.number(path)
    if params.previous_result_id == number:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(number)
    return lsp.RelatedFullDocumentDiagnosticReport(
        ls.diagnostics(path), result_id=number
    )


async def on_workspace_diagnostic(
    ls: Connection, params: lsp.WorkspaceDiagnosticParams
) -> lsp.WorkspaceDiagnosticReport | lsp.ResponseError:
    """Answered when there is something else to say, so that nobody need ask again."""
    ls.pulls_workspace()
    told: dict[str, str] = {}
    for known in params.previous_result_ids:
        path = path_of(known.uri)
        if path is not None:
            told[path] = known.value
    while not (changed := [*ls.published.changed(told.items())]):
        if not await ls.something_to_say():
            return server_cancelled(
                "its client does not wait for it any more", retrigger=False
            )
    return lsp.WorkspaceDiagnosticReport(
        [
            lsp.WorkspaceFullDocumentDiagnosticReport(
                ls.uri_of(path),
                ls.diagnostics(path),
                result_id=ls.published.number(path),
            )
            for path in changed
        ]
    )
