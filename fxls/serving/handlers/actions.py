"""What stands beside the code and can be clicked, and changes that are offered."""

from __future__ import annotations

from typing import Any, cast

from lsprotocol import types as lsp

from fxls.ide import code_actions as fixes
from fxls.ide import code_lenses as lenses
from fxls.ide import completion as comments
from fxls.ide import document_links as links
from fxls.ide.edits.fix import Fix
from fxls.ide.entries import write_entry as written_entry
from fxls.ide.inlay_hints import (
    error_hints,
    hints,
    line_time_hints,
    size_hints,
    source_hints,
    time_hints,
    tip,
)
from fxls.ide.text_document_content import Sheet
from fxls.lsp import actions, from_lsp, structure
from fxls.lsp.code_lenses import LensItem, lens_items
from fxls.lsp.uris import SCHEME, path_of, uri_of
from fxls.serving.connection import Connection
from fxls.serving.handlers.fitting import fitting_actions
from fxls.serving.handlers.kernels import timed, timed_around
from fxls.serving.handlers.numbers import errors_of
from fxls.serving.handlers.other_graphs import other_graphs
from fxls.serving.handlers.passes import node_actions
from fxls.serving.handlers.repairs import repair_actions
from fxls.serving.handlers.request_place import document_of
from fxls.serving.ownership import is_installed
from fxls.serving.settings import Lenses
from fxls.serving.transport.protocol import content_modified
from fxls.text import LineTable

__all__ = [
    "on_code_action",
    "on_code_lens",
    "on_completion",
    "on_document_link",
    "on_inlay_hint",
    "on_resolve_hint",
]


def on_inlay_hint(
    ls: Connection, params: lsp.InlayHintParams
) -> list[lsp.InlayHint] | None:
    first, last = params.range.start.line, params.range.end.line
    document = document_of(ls, params.text_document.uri)
    path = path_of(params.text_document.uri)
    if document is not None:
        times = time_hints(document, timed(ls, document), first, last)
        errors = error_hints(document, errors_of(ls, document), first, last)
        others = other_graphs(ls, document)
        found = hints(document, first, last, others) + times + errors
        lines = document.lines
        known = {document.path: document}
    elif path is not None and not ls.session.is_listing(path):
        source = ls.session.source(path)
        sizes = size_hints(ls.session.sizes(path), source.lines, first, last)
        times = line_time_hints(source, timed_around(ls, source), first, last)
        found = source_hints(source, first, last) + sizes + times
        lines = source.lines
        known = {document.path: document for document in source.documents}
    else:
        return None
    return [
        actions.hint(ls.client, hint, lines, lambda h: tip(known[h.path], h.node))
        for hint in found
    ]


def on_resolve_hint(
    ls: Connection, hint: lsp.InlayHint
) -> lsp.InlayHint | lsp.ResponseError:
    noted: object = hint.data
    data = cast("dict[str, Any]", noted) if isinstance(noted, dict) else {}
    path, node = data.get("path"), data.get("node")
    if isinstance(path, str) and isinstance(node, int):
        document = document_of(ls, uri_of(path))
        if document is None or not 0 <= node < len(document.listing.nodes):
            return content_modified("the listing is gone, or was edited")
        hint.tooltip = tip(document, node)
    return hint


def on_code_lens(ls: Connection, params: lsp.CodeLensParams) -> list[LensItem] | None:
    document = document_of(ls, params.text_document.uri)
    path = path_of(params.text_document.uri)
    shown = ls.session.settings.lenses
    if shown is Lenses.OFF:
        return None
    if document is not None:
        freshness, texts = ls.session.freshness(document), ls.session.text_of
        found = [*lenses.lenses(document, freshness, texts)]
        if shown is Lenses.NODES:
            found += lenses.node_lenses(document)
        lines = document.lines
    elif path is not None and not ls.session.is_listing(path):
        source = ls.session.source(path)
        found = [*lenses.source_lenses(source, ls.session.entries(path))]
        lines = source.lines
    else:
        return None
    return lens_items(ls.client, found, lines, ls.session.lines_of)


def on_document_link(
    ls: Connection, params: lsp.DocumentLinkParams
) -> list[lsp.DocumentLink] | None:
    uri = params.text_document.uri
    if uri.startswith(f"{SCHEME}:"):
        sheet = ls.session.library.virtual(uri)
        if isinstance(sheet, Sheet):
            lines = LineTable(sheet.text)
            return structure.links(ls.client, sheet.links, lines)
    document = document_of(ls, uri)
    if document is None:
        return None
    found = links.links(document, ls.session.text_of)
    return structure.links(ls.client, found, document.lines)


def on_completion(
    ls: Connection, params: lsp.CompletionParams
) -> list[lsp.CompletionItem] | None:
    path = path_of(params.text_document.uri)
    text = None if path is None else ls.session.text_of(path)
    if path is None or text is None or ls.session.is_listing(path):
        return None
    lines = LineTable(text)
    point = from_lsp.point(params.position, lines, ls.client.encoding)
    found = comments.completions(text, path, point)
    return [actions.completion(ls.client, one, lines) for one in found]


def on_code_action(
    ls: Connection, params: lsp.CodeActionParams
) -> list[lsp.CodeAction] | None:
    document = document_of(ls, params.text_document.uri)
    if document is not None:
        start = ls.client.span_in(params.range, document.lines).start
        return node_actions(ls, document, start) or None
    path = path_of(params.text_document.uri)
    text = None if path is None else ls.session.text_of(path)
    if path is None or text is None or ls.session.is_listing(path):
        return None
    lines, client = LineTable(text), ls.client
    span = client.span_in(params.range, lines)
    found: list[lsp.CodeAction] = []
    offered: set[Fix] = set()
    for diagnostic in ls.session.failures(path):
        if diagnostic.failure is not None and diagnostic.span.meets(span):
            said = client.diagnostic(diagnostic, ls.session.lines_of)
            entry = diagnostic.entry
            there = ls.session.text_of(entry.path) if entry else None
            for fix in fixes.fixes(diagnostic.failure, entry, path, text, there):
                # Two entries may fail in one place.
                if fix not in offered and not fix.can_be_tried:
                    offered.add(fix)
                    file = ls.session.lines_of(fix.path)
                    found.append(actions.code_action(client, fix, file, said))
    found += fitting_actions(ls, path, span)
    found += repair_actions(ls, path, span)
    found += [
        actions.code_action(client, fix, lines, None)
        for fix in written_entry.entry_fixes(text, path, span.start)
        if not is_installed(path)
    ]
    return found
