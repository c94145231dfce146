"""What the record of a run has: the passes of a listing, and guards."""

from __future__ import annotations

from functools import partial

from lsprotocol import types as lsp

from fxls.counted import counted
from fxls.ide.listing.document import Document
from fxls.ide.listing.recorded import ReadGraph, Recorded, askable
from fxls.listing import Listing
from fxls.lsp import custom
from fxls.lsp.first_pass import FirstPassesItem, FirstPassItem, first_pass_item
from fxls.lsp.uris import path_of
from fxls.record import RevisionName
from fxls.record.first_pass import Asked, Found, Question, first_passes
from fxls.serving.connection import Connection
from fxls.serving.faults import task_with_faults_logged
from fxls.serving.handlers.lifecycle import on_open
from fxls.serving.handlers.request_place import document_of
from fxls.text import Point

__all__ = ["node_actions", "on_first_pass", "on_guards", "recorded_of"]

_TITLES = {
    Asked.MADE: "Ask for the first pass that made {}",
    Asked.ALTERED: "Ask for the first pass that altered {}",
    Asked.MOVED: "Ask for the first pass that moved {}",
    Asked.GONE: "Ask for the first pass behind which {} is gone",
}


def recorded_of(
    ls: Connection, document: Document
) -> tuple[Recorded, ReadGraph] | None:
    """The passes that a graph went through, with what reads the graphs between them."""
    recorded = ls.session.library.recorded(document)
    if recorded is None:
        return None
    return recorded, partial(ls.session.library.beside, document)


def node_actions(
    ls: Connection, document: Document, point: Point
) -> list[lsp.CodeAction]:
    """What can be asked about the node under a cursor, where the record names it."""
    touched = document.touched(point)
    known = recorded_of(ls, document) if touched else None
    if touched is None or known is None:
        return []
    name = document.listing.nodes[touched.node].name
    uri = ls.uri_of(document.path)
    return [
        lsp.CodeAction(
            title := _TITLES[asked].format(name),
            command=lsp.Command(
                title, custom.FIRST_PASS, arguments=[uri, asked.value, name]
            ),
        )
        for asked in askable(name, known[0])
    ]


async def on_first_pass(ls: Connection, uri: str = "", *words: str) -> object:
    """The first pass that did something to a graph; the client also shows it."""
    asked, what, *_ = (*words, "", "")
    item, first = _answer(ls, uri, asked, what)
    lines = [one.said for one in item.found]
    if item.problem:
        lines.append(item.problem)
    kind = lsp.MessageType.Info if item.found else lsp.MessageType.Warning
    ls.window_show_message(lsp.ShowMessageParams(kind, f"fxls: {' '.join(lines)}"))
    if first is not None and ls.client.abilities.shows_documents:
        await task_with_faults_logged(on_open)(ls, first.uri, first.line, 0)
    return custom.plainly(item)


async def on_guards(ls: Connection, uri: str = "", *words: str) -> str | None:
    """The URI of the guards of the newest run, which the client also shows, if it can."""
    compilation, *_ = (*words, "")
    library = ls.session.library
    roots = library.roots_about(path_of(uri))
    there = library.guards.newest_uri(roots, compilation)
    if there is None:
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, _NONE))
    elif ls.client.abilities.reads_content and ls.client.abilities.shows_documents:
        await task_with_faults_logged(on_open)(ls, there, 0, 0)
    return there


def _answer(
    ls: Connection, uri: str, asked: str, what: str
) -> tuple[FirstPassesItem, FirstPassItem | None]:
    kinds = {one.value: one for one in Asked}
    if asked not in kinds:
        words = ", ".join(kinds)
        return FirstPassesItem(problem=f"Ask for one of {words}, not {asked!r}."), None
    document = document_of(ls, uri)
    known = recorded_of(ls, document) if document else None
    if document is None or known is None:
        return FirstPassesItem(problem=_UNKNOWN), None
    recorded, read_graph = known

    def read(name: RevisionName) -> Listing | None:
        found = read_graph(name)
        return found.listing if found else None

    question = Question(kinds[asked], what)
    answer = first_passes(recorded.step, question, read)
    items = [_item(ls, found, read_graph) for found in answer.found]
    problem = None
    if not items:
        changed = sum(one.changed for one in recorded.step)
        problem = f"No graph of this step has {what}."
        if changed == 1 and answer.is_known:
            problem = "The pass that changed this graph did not do that."
        elif answer.is_known or not changed:
            problem = (
                f"None of the {changed:,} passes that changed this graph did that."
            )
    if answer.unread:
        problem = f"{problem or ''} {_UNREAD.format(counted(answer.unread, 'pass', 'passes'))}".strip()
    result = FirstPassesItem(tuple(items), answer.unread, problem)
    return result, items[0] if items else None


def _item(ls: Connection, found: Found, read_graph: ReadGraph) -> FirstPassItem:
    before, after = found.ran.before, found.ran.after
    assert before is not None, "both were read"
    assert after is not None, "both were read"
    was, is_ = read_graph(before), read_graph(after)
    assert was is not None, "it was read a moment ago"
    assert is_ is not None, "it was read a moment ago"
    return first_pass_item(ls.client, found, was, is_, ls.session.lines_of)


_UNKNOWN = (
    "No run in this store has passes of this graph. `fxls run FILE` records a program "
    "that compiles."
)
_NONE = (
    "fxls: the newest runs in this store have no guards. `fxls run FILE` records a "
    "program that compiles."
)
_UNREAD = "{} changed a graph that is not in the store any more."
