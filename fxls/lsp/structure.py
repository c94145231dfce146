"""The structure of a listing as LSP types: hierarchy, selections, links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from lsprotocol import types as lsp

from fxls.ide.call_hierarchy import Call, CallItem
from fxls.ide.document_links import DocumentLink
from fxls.ide.inline_values import Lookup
from fxls.ide.listing.document import Document
from fxls.ide.workspace_symbols import Found
from fxls.lsp.client import Client, Lines
from fxls.lsp.uris import link_to, uri_of
from fxls.text import LineTable, Span

__all__ = [
    "KINDS",
    "OTHER",
    "calls_from",
    "calls_to",
    "data_of",
    "found_symbols",
    "inline_values",
    "item",
    "links",
    "selection",
]

OTHER = lsp.SymbolKind.Variable

KINDS = {
    "forward": lsp.SymbolKind.Function,
    "module": lsp.SymbolKind.Module,
    "placeholder": lsp.SymbolKind.Variable,
    "get_attr": lsp.SymbolKind.Field,
    "call_module": lsp.SymbolKind.Object,
    "call_method": lsp.SymbolKind.Method,
    "call_function": lsp.SymbolKind.Function,
    "output": lsp.SymbolKind.Event,
}


def selection(
    client: Client, spans: Sequence[Span], lines: LineTable
) -> lsp.SelectionRange | None:
    """Spans from the inside as ranges, each with the one around it."""
    around: lsp.SelectionRange | None = None
    for span in reversed(spans):
        around = lsp.SelectionRange(client.range(span, lines), around)
    return around


def links(
    client: Client, found: Iterable[DocumentLink], lines: LineTable
) -> list[lsp.DocumentLink]:
    return [
        lsp.DocumentLink(
            client.range(link.span, lines),
            link_to(link.there.path, link.there.focus.start),
            link.tip,
        )
        for link in found
    ]


def item(client: Client, item_: CallItem, lines: LineTable) -> lsp.CallHierarchyItem:
    return lsp.CallHierarchyItem(
        item_.name,
        KINDS.get(item_.kind, OTHER),
        uri_of(item_.path),
        client.range(item_.whole, lines),
        client.range(item_.focus, lines),
        detail=item_.detail or None,
        data={"first": item_.first, "scope": item_.scope},
    )


def data_of(item_: lsp.CallHierarchyItem) -> tuple[int, int | None] | None:
    """What `item` noted about a node or module; None for an item of somebody else's."""
    noted: object = item_.data
    if not isinstance(noted, dict):
        return None
    data = cast("dict[str, Any]", noted)
    first, scope = data.get("first"), data.get("scope")
    if not isinstance(first, int) or not isinstance(scope, int | None):
        return None
    return first, scope


def calls_to(
    client: Client, calls: Iterable[Call], lines: LineTable
) -> list[lsp.CallHierarchyIncomingCall]:
    return [
        lsp.CallHierarchyIncomingCall(
            item(client, call.item, lines),
            [client.range(span, lines) for span in call.spans],
        )
        for call in calls
    ]


def calls_from(
    client: Client, calls: Iterable[Call], lines: LineTable
) -> list[lsp.CallHierarchyOutgoingCall]:
    return [
        lsp.CallHierarchyOutgoingCall(
            item(client, call.item, lines),
            [client.range(span, lines) for span in call.spans],
        )
        for call in calls
    ]


def inline_values(
    client: Client, found: Iterable[Lookup], document: Document
) -> list[lsp.InlineValue]:
    return [
        lsp.InlineValueVariableLookup(
            client.range(lookup.span, document.lines),
            case_sensitive_lookup=True,
            variable_name=lookup.name,
        )
        for lookup in found
    ]


def found_symbols(
    client: Client, found: Iterable[Found], lines_of: Lines
) -> list[lsp.WorkspaceSymbol]:
    """Symbols; a file that nobody read yet has no range where a client resolves it."""
    return [_found(client, one, lines_of) for one in found]


def _found(client: Client, found: Found, lines_of: Lines) -> lsp.WorkspaceSymbol:
    place: lsp.Location | lsp.LocationUriOnly
    if found.there is not None:
        place = client.location(found.there, lines_of)
    elif client.abilities.resolves_symbols:
        place = lsp.LocationUriOnly(uri_of(found.path))
    else:
        place = lsp.Location(
            uri_of(found.path), lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        )
    kind = KINDS.get(found.kind, OTHER)
    return lsp.WorkspaceSymbol(place, found.name, kind, container_name=found.container)
