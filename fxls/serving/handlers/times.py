"""How long the nodes of a graph take: measured by the worker when somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fxls.entry import Entry, Kind, Producer
from fxls.ide.listing.definitions import class_of_graph
from fxls.ide.listing.document import Document
from fxls.ide.listing.node_times import TimedKernel, nanoseconds, timed_kernels
from fxls.lsp import custom, params
from fxls.serving.connection import Connection
from fxls.serving.handlers.kernels import timed
from fxls.serving.handlers.request_place import document_of
from fxls.serving.handlers.tracing import with_progress
from fxls.wire import Failed

__all__ = ["on_times"]


async def on_times(ls: Connection, asked: params.About) -> custom.TimesItem | None:
    document = document_of(ls, asked.uri)
    if document is None:
        return None
    kernels = timed_kernels(document, timed(ls, document))
    if kernels:
        return _recorded(document, kernels)
    if document.listing.identity.producer == "torch.compile":
        return custom.TimesItem(problem=_COMPILED)
    entry = _entry_of(ls, document)
    if entry is None:
        return custom.TimesItem(
            problem="Times are measured by running the entry of a listing, "
            "and this one was not made from one by the engine."
        )
    task = asyncio.ensure_future(ls.session.trace(entry, timed=True))
    ls.started_by(ls.protocol.msg_id, task)
    outcome = await with_progress(ls, "Measuring", entry, task)
    if outcome is None:
        return custom.TimesItem(problem=f"{entry.name}: it was cancelled.")
    ls.publish(*ls.session.settle(entry, outcome))
    ls.tell_news()
    if isinstance(outcome, Failed):
        return custom.TimesItem(problem=f"{entry.name}: {outcome.failure.message}.")
    if outcome.identity.producer != "engine":
        who = outcome.identity.producer
        problem = f"{entry.name}: {who} captures it, whose nodes are not measured."
        return custom.TimesItem(problem=problem)
    if outcome.trouble is not None:
        return custom.TimesItem(problem=f"{entry.name}: {outcome.trouble.message}.")
    if not outcome.times:
        problem = f"{entry.name} gives no example inputs: call the model with them."
        return custom.TimesItem(problem=problem)
    traced = ls.session.document(outcome.path)
    if traced is None or traced.listing.text != document.listing.text:
        return custom.TimesItem(problem="The model has changed since then.")
    ls.session.times.measure(document.path, outcome.times)
    return custom.TimesItem(outcome.times)


def _recorded(document: Document, kernels: Sequence[TimedKernel]) -> custom.TimesItem:
    """What a run measured of the kernels that compute nodes."""
    return custom.TimesItem(
        nanoseconds(len(document.listing.nodes), kernels),
        kernels=tuple(
            custom.KernelItem(round(one.seconds * 1e9), one.nodes, one.shared_by)
            for one in kernels
        ),
        calls=min(one.calls for one in kernels),
    )


_COMPILED = (
    "No run has measured the kernels of this graph: run the program with "
    "`fxls run --times`, such that it calls the compiled function at least twice."
)


def _entry_of(ls: Connection, document: Document) -> Entry | None:
    """The entry that a listing was made from; None when the engine traced none."""
    expression = document.listing.entry
    source = class_of_graph(document, ls.session.text_of)
    path = document.listing.entry_path or (source and source.path)
    if expression is None or path is None:
        return None
    if document.listing.identity.producer != "engine":
        return None
    known = (*ls.session.entries(path), *ls.session.traces.made_of(path))
    for entry in known:
        if entry.expression == expression and entry.producer in (None, Producer.ENGINE):
            return entry
    return Entry(path, expression, Kind.COMMAND)
