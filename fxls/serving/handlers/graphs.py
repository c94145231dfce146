"""What an extension shows of graphs: lists, pictures, tables, comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from fxls.graph_diff import as_json, graph_diff
from fxls.ide.listing.comparable_text import normalized
from fxls.ide.listing.document import Document
from fxls.ide.listing.node_times import nanoseconds, timed_kernels
from fxls.ide.listing.parent import parent_paths
from fxls.ide.listing.recorded import change_of
from fxls.ide.listing.table_rows import Column
from fxls.lsp import custom, params
from fxls.lsp import graph_view as picture
from fxls.lsp.client import Lines
from fxls.lsp.uris import SCHEME, path_of, uri_of
from fxls.record.node_errors import NodeError
from fxls.serving.connection import Connection
from fxls.serving.handlers.aside import aside, in_thread
from fxls.serving.handlers.documents import content
from fxls.serving.handlers.kernels import timed
from fxls.serving.handlers.numbers import errors_of
from fxls.serving.handlers.request_place import document_of
from fxls.serving.library import Library
from fxls.serving.run_records import Placed
from fxls.store import Revision
from fxls.store.history import History

__all__ = [
    "on_content",
    "on_delete",
    "on_diff",
    "on_graph",
    "on_identities",
    "on_listings",
    "on_normalized",
    "on_revisions",
    "on_rows",
]


def on_content(ls: Connection, asked: params.About) -> custom.ContentItem:
    return custom.ContentItem(content(ls, asked.uri))


def on_listings(ls: Connection, asked: params.OfDocument) -> list[custom.ListingItem]:
    path = path_of(asked.text_document.uri)
    if path is None:
        return []
    return [
        custom.listing_item(document, ls.session.library.uri_about(document))
        for document in ls.session.source(path).documents
    ]


def on_identities(ls: Connection, asked: params.Nothing) -> list[custom.IdentityItem]:
    library = ls.session.library
    aged = ((one, library.is_stale(one.newest)) for one in library.histories())
    return [
        _identity_item(library, history, stale=is_stale)
        for history, is_stale in aged
        if not (is_stale and ls.session.is_gone(history.newest))
    ]


def on_revisions(ls: Connection, asked: params.About) -> list[custom.RevisionItem]:
    path, library = _named(asked.uri), ls.session.library
    history = library.history(path) if path else None
    return (
        [*_revision_items(library, history, library.made_by(history))]
        if history
        else []
    )


async def on_graph(
    ls: Connection, asked: params.About
) -> picture.GraphItem | msgspec.Raw | None:
    document = document_of(ls, asked.uri)
    if document is None:
        return None
    made = partial(
        picture.graph_item,
        ls.client,
        document,
        ls.session.library.uri_about(document),
        _lines_of_origins(ls, document),
        stale=bool(ls.session.freshness(document).changed),
        # One that was deleted is passed over.
        parent=next(filter(ls.session.document, parent_paths(document)), None),
        errors=errors_of(ls, document),
    )
    return await aside(ls, document, made)


def _lines_of_origins(ls: Connection, document: Document) -> Lines:
    """The lines of the files that nodes come from as they are now, for what is made
    aside.
    """
    listing = document.listing
    frames = {facts.origin for facts in listing.nodes if facts.origin is not None}
    sources = {listing.frames[frame].source for frame in frames}
    paths = [listing.sources[source].path for source in sources]
    return {path: ls.session.lines_of(path) for path in paths}.get


async def on_rows(ls: Connection, asked: params.Rows) -> picture.TableItem | None:
    document = document_of(ls, asked.uri)
    if document is None:
        return None
    count = len(document.listing.nodes)
    times = ls.session.times.measured(document.path)
    kernels = timed_kernels(document, timed(ls, document))
    if kernels:
        times = nanoseconds(count, kernels)
    errors = errors_of(ls, document)
    in_order = partial(
        ls.session.rows,
        document,
        asked.sort,
        descending=asked.descending,
        search=asked.search,
        amounts=_amounts(asked.sort, count, times, errors),
    )
    found = await in_thread(ls, document, in_order)
    shared = {node for one in kernels if one.shared_by > 1 for node in one.nodes}
    return picture.table_item(
        *(ls.client, document, found, asked, ls.session.lines_of, times, shared, errors)
    )


def _amounts(
    column: Column, count: int, times: tuple[int, ...], errors: Mapping[int, NodeError]
) -> tuple[float, ...]:
    """For each node, what a table is sorted by that no listing has."""
    if column is Column.TIME:
        return times
    if column is not Column.ERROR or not errors:
        return ()
    return tuple(
        _NOT_COMPARED if (one := errors.get(node)) is None else one.value.share
        for node in range(count)
    )


_NOT_COMPARED = -1.0


async def on_normalized(
    ls: Connection, asked: params.Normalized
) -> custom.ContentItem | msgspec.Raw | None:
    document = document_of(ls, asked.uri)
    like = document_of(ls, asked.like) if asked.like else None
    if document is None or (asked.like and like is None):
        return None
    return await aside(
        ls, document, lambda: custom.ContentItem(normalized(document, like))
    )


async def on_diff(
    ls: Connection, asked: params.Diff
) -> dict[str, Any] | msgspec.Raw | None:
    old, new = document_of(ls, asked.old), document_of(ls, asked.new)
    if old is None or new is None:
        return None
    first, second = old.listing, new.listing
    larger = max(old, new, key=lambda one: len(one.listing.nodes))
    return await aside(ls, larger, lambda: as_json(graph_diff(first, second)))


def on_delete(ls: Connection, asked: params.About) -> custom.DeletedItem:
    path = _named(asked.uri)
    history = ls.session.library.history(path) if path else None
    deleted, error = ls.session.library.delete(path) if path else ((), None)
    if deleted:
        ls.publish_and_refresh(*ls.open_paths)
        ls.tell_changed([_uri(ls.session.library, history)] if history else [])
    problem = None if error is None else f"{error.problem}. {error.advice}"
    return custom.DeletedItem([uri_of(path) for path in deleted], problem)


def _named(uri: str) -> str | None:
    """The path of a file; a virtual document stands for itself."""
    return uri if uri.startswith(f"{SCHEME}:") else path_of(uri)


def _uri(library: Library, history: History, name: str = "forward.py") -> str:
    return library.uri(history.newest.path.parent, history.identity, name)


def _identity_item(
    library: Library, history: History, *, stale: bool
) -> custom.IdentityItem:
    identity, newest = history.identity, history.newest
    return custom.IdentityItem(
        _uri(library, history),
        uri_of(str(newest.path)),
        str(newest.path),
        identity.module,
        identity.qualname,
        identity.producer,
        newest.time,
        len(history.revisions),
        [uri_of(source) for source in newest.sources],
        identity.stage,
        identity.rank,
        newest.nodes,
        newest.entry,
        stale,
    )


def _revision_items(
    library: Library, history: History, made: Mapping[str, Placed]
) -> Iterator[custom.RevisionItem]:
    for one in _in_order(history, made):
        known = made.get(one.path.name)
        ran = known and known.ran
        yield custom.RevisionItem(
            uri_of(str(one.path)),
            str(one.path),
            _uri(library, history, one.path.name),
            one.time,
            one.nodes,
            one.entry,
            ran and ran.name,
            ran and ran.ordinal,
            ran and change_of(ran),
            ran and ran.compilation,
        )


def _in_order(history: History, made: Mapping[str, Placed]) -> Iterator[Revision]:
    """The newest first; a log has them as they were written, and records as they were
    made.
    """
    known = [one for one in history.revisions if one.path.name in made]
    known.sort(key=lambda one: made[one.path.name].order, reverse=True)
    sorted_ = iter(known)
    for one in history.revisions:
        yield next(sorted_) if one.path.name in made else one
