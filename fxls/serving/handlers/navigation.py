"""Hover, and every way to go from one place to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lsprotocol import types as lsp

from fxls.ide.declaration import declaration
from fxls.ide.definition import definition, source_definition
from fxls.ide.document_highlights import highlights
from fxls.ide.hover import hover, remark_hover, source_hover
from fxls.ide.implementation import implementation, source_implementation
from fxls.ide.listing.document import Document, Jump
from fxls.ide.listing.parent import captured_path
from fxls.ide.listing.size_card import size_hover
from fxls.ide.references import references, uses
from fxls.ide.source.source_file import SourceFile
from fxls.ide.type_definition import type_definition
from fxls.serving.connection import Connection
from fxls.serving.handlers.kernels import beside, timed_around
from fxls.serving.handlers.passes import recorded_of
from fxls.serving.handlers.request_place import Positioned, RequestPlace, place_of
from fxls.text import Point

__all__ = [
    "on_declaration",
    "on_definition",
    "on_document_highlight",
    "on_hover",
    "on_implementation",
    "on_references",
    "on_type_definition",
]

Links = list[lsp.LocationLink] | list[lsp.Location]


def on_hover(ls: Connection, params: lsp.HoverParams) -> lsp.Hover | None:
    place = place_of(ls, params)
    if place is None:
        return None
    if place.document is not None:
        texts = ls.session.text_as_traced(place.document)
        above = captured_path(place.document)
        parent = ls.session.document(above) if above else None
        passes = partial(recorded_of, ls, place.document)
        others = beside(ls, place.document)
        found = hover(place.document, place.point, texts, parent, passes, others)
    else:
        source = ls.session.source(place.path)
        known = (
            source_hover(source, place.point, timed_around(ls, source)),
            remark_hover(ls.session.remarks(place.path), place.point),
            size_hover(ls.session.sizes(place.path), place.point),
        )
        cards = [one for one in known if one is not None]
        # What is wrong is seen without scrolling: what code became may be long.
        said = [*cards[1:], cards[0]] if known[0] is not None else cards
        card = tuple(block for one in said for block in one.card)
        found = replace(cards[0], card=card) if cards else None
    return ls.client.hover(found, place.lines) if found else None


def on_definition(ls: Connection, params: lsp.DefinitionParams) -> Links | None:
    return _jump(ls, params, definition, source_definition)


def on_implementation(ls: Connection, params: lsp.ImplementationParams) -> Links | None:
    return _jump(ls, params, implementation, source_implementation)


def on_declaration(ls: Connection, params: lsp.DeclarationParams) -> Links | None:
    place = place_of(ls, params)
    if place is None or place.document is None:
        return None
    texts = ls.session.text_of
    return _links(ls, place, declaration(place.document, place.point, texts))


def on_type_definition(
    ls: Connection, params: lsp.TypeDefinitionParams
) -> Links | None:
    place = place_of(ls, params)
    if place is None or place.document is None:
        return None
    found = type_definition(place.document, place.point, ls.session.text_of)
    return _links(ls, place, found)


def on_references(
    ls: Connection, params: lsp.ReferenceParams
) -> list[lsp.Location] | None:
    place = place_of(ls, params)
    if place is None or place.document is None:
        return None
    if params.context.include_declaration:
        marks = references(place.document, place.point)
    else:
        marks = uses(place.document, place.point)
    return ls.client.references(marks, place.document)


def on_document_highlight(
    ls: Connection, params: lsp.DocumentHighlightParams
) -> list[lsp.DocumentHighlight] | None:
    place = place_of(ls, params)
    if place is None or place.document is None:
        return None
    marks = highlights(place.document, place.point)
    return ls.client.highlights(marks, place.document)


def _jump(
    ls: Connection,
    params: Positioned,
    from_listing: Callable[[Document, Point], Jump | None],
    from_source: Callable[[SourceFile, Point], Jump | None],
) -> Links | None:
    place = place_of(ls, params)
    if place is None:
        return None
    if place.document is not None:
        found = from_listing(place.document, place.point)
        found = ls.session.moved(place.document, found) if found else None
    else:
        found = from_source(ls.session.source(place.path), place.point)
    return _links(ls, place, found)


def _links(ls: Connection, place: RequestPlace, found: Jump | None) -> Links | None:
    return ls.client.jump(found, place.lines, ls.session.lines_of) if found else None
