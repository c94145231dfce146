"""How a listing is built: outline, folds, colours, selections, hierarchy, search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import msgspec
from lsprotocol import types as lsp

from fxls.ide import call_hierarchy as hierarchy
from fxls.ide import inline_values as inline
from fxls.ide import workspace_symbols as search
from fxls.ide.document_symbols import outline
from fxls.ide.folding_ranges import folds
from fxls.ide.listing.document import Document
from fxls.ide.selection_ranges import selections
from fxls.ide.semantic_tokens import tokens
from fxls.lsp import from_lsp, structure
from fxls.lsp.client import Client
from fxls.lsp.document_symbols import SymbolItem, symbol_item
from fxls.lsp.folding_ranges import FoldItem, fold_items
from fxls.lsp.semantic_tokens import TokensDelta, TokensItem, tokens_item
from fxls.lsp.uris import path_of, uri_of
from fxls.serving.connection import Connection
from fxls.serving.handlers.aside import aside
from fxls.serving.handlers.request_place import document_of, place_of
from fxls.serving.session import Session
from fxls.serving.transport.protocol import content_modified

__all__ = [
    "on_document_symbol",
    "on_folding_range",
    "on_incoming_calls",
    "on_inline_value",
    "on_outgoing_calls",
    "on_prepare_call_hierarchy",
    "on_resolve_symbol",
    "on_selection_range",
    "on_semantic_tokens",
    "on_semantic_tokens_delta",
    "on_semantic_tokens_range",
    "on_workspace_symbol",
]

_GONE = "the listing is gone, or was edited"


async def on_document_symbol(
    ls: Connection, params: lsp.DocumentSymbolParams
) -> list[SymbolItem] | msgspec.Raw | None:
    document = document_of(ls, params.text_document.uri)
    if document is None:
        return None
    return await aside(ls, document, partial(_outline, ls.client, document))


def _outline(client: Client, document: Document) -> list[SymbolItem]:
    return [symbol_item(client, outline(document), document.lines)]


async def on_folding_range(
    ls: Connection, params: lsp.FoldingRangeParams
) -> list[FoldItem] | msgspec.Raw | None:
    document = document_of(ls, params.text_document.uri)
    if document is None:
        return None
    return await aside(ls, document, lambda: fold_items(folds(document)))


async def on_semantic_tokens(
    ls: Connection, params: lsp.SemanticTokensParams
) -> TokensItem | msgspec.Raw | None:
    document = document_of(ls, params.text_document.uri)
    if document is None:
        return None
    return await aside(ls, document, partial(_tokens, ls.client, document))


async def on_semantic_tokens_delta(
    ls: Connection, params: lsp.SemanticTokensDeltaParams
) -> TokensItem | TokensDelta | msgspec.Raw | None:
    document = document_of(ls, params.text_document.uri)
    if document is not None and params.previous_result_id == _result_id(document):
        return TokensDelta(params.previous_result_id, ())
    return await on_semantic_tokens(ls, lsp.SemanticTokensParams(params.text_document))


def on_semantic_tokens_range(
    ls: Connection, params: lsp.SemanticTokensRangeParams
) -> TokensItem | None:
    document = document_of(ls, params.text_document.uri)
    if document is None:
        return None
    found = tokens(document, params.range.start.line, params.range.end.line)
    return tokens_item(ls.client, found, document.lines)


def _tokens(client: Client, document: Document) -> TokensItem:
    found = tokens(document, 0, len(document.lines))
    return tokens_item(client, found, document.lines, _result_id(document))


def _result_id(document: Document) -> str:
    """What the tokens of a text are called; another server calls them otherwise."""
    return str(hash(document.listing.text))


def on_selection_range(
    ls: Connection, params: lsp.SelectionRangeParams
) -> list[lsp.SelectionRange] | None:
    document = document_of(ls, params.text_document.uri)
    if document is None:
        return None
    lines, encoding = document.lines, ls.client.encoding
    points = [from_lsp.point(at, lines, encoding) for at in params.positions]
    found = [
        structure.selection(ls.client, selections(document, point), lines)
        for point in points
    ]
    # One for each position, or none at all.
    return [one for one in found if one is not None]


def on_inline_value(
    ls: Connection, params: lsp.InlineValueParams
) -> list[lsp.InlineValue] | None:
    document = document_of(ls, params.text_document.uri)
    if document is None:
        return None
    stopped = params.context.stopped_location.start.line
    first, last = params.range.start.line, params.range.end.line
    found = inline.lookups(document, first, last, stopped)
    return structure.inline_values(ls.client, found, document)


def on_prepare_call_hierarchy(
    ls: Connection, params: lsp.CallHierarchyPrepareParams
) -> list[lsp.CallHierarchyItem] | None:
    place = place_of(ls, params)
    if place is None or place.document is None:
        return None
    found = hierarchy.item_at(place.document, place.point)
    return [structure.item(ls.client, found, place.lines)] if found else None


def on_incoming_calls(
    ls: Connection, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall] | lsp.ResponseError | None:
    noted = structure.data_of(params.item)
    if noted is None:
        return None
    document = document_of(ls, params.item.uri)
    found = hierarchy.item_of(document, *noted) if document else None
    if document is None or found is None:
        return content_modified(_GONE)
    calls = hierarchy.callers(document, found)
    return structure.calls_to(ls.client, calls, document.lines)


def on_outgoing_calls(
    ls: Connection, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall] | lsp.ResponseError | None:
    noted = structure.data_of(params.item)
    if noted is None:
        return None
    document = document_of(ls, params.item.uri)
    found = hierarchy.item_of(document, *noted) if document else None
    if document is None or found is None:
        return content_modified(_GONE)
    calls = hierarchy.callees(document, found)
    return structure.calls_from(ls.client, calls, document.lines)


def on_workspace_symbol(
    ls: Connection, params: lsp.WorkspaceSymbolParams
) -> list[lsp.WorkspaceSymbol]:
    session = ls.session
    found = _of_what_is_there(
        session, session.library.found(params.query, session.is_gone)
    )
    return structure.found_symbols(
        ls.client, islice(found, search.MOST), session.lines_of
    )


def _of_what_is_there(
    session: Session, found: Iterable[search.Found]
) -> Iterator[search.Found]:
    """Without the nodes of listings that were read and whose source is gone."""
    shown: dict[str, bool] = {}
    for one in found:
        if one.there is not None and one.path not in shown:
            document = session.document(one.path)
            shown[one.path] = (
                document is None or not session.freshness(document).is_gone
            )
        if shown.get(one.path, True):
            yield one


def on_resolve_symbol(
    ls: Connection, symbol: lsp.WorkspaceSymbol
) -> lsp.WorkspaceSymbol:
    path = path_of(symbol.location.uri)
    document = ls.session.document(path) if path else None
    if document is not None:
        span = ls.client.range(document.start.focus, document.lines)
        symbol.location = lsp.Location(uri_of(document.path), span)
    return symbol
