"""What an extension shows of runs: a list, and what each did."""

from __future__ import annotations

from functools import partial

from fxls.lsp import params
from fxls.lsp import run_view as view
from fxls.lsp.uris import uri_of
from fxls.record import RevisionName
from fxls.serving.connection import Connection
from fxls.serving.run_guards import RunGuards

__all__ = ["on_run", "on_runs"]


def on_runs(ls: Connection, asked: params.Nothing) -> list[view.RunItem]:
    library = ls.session.library
    found = library.overviews.newest(library.roots_about(None))
    return [view.run_item(one.run, one.summary, one.state) for one in found]


def on_run(ls: Connection, asked: params.OfRun) -> view.OverviewItem | None:
    library = ls.session.library
    found = library.overviews.overview(library.roots_about(None), asked.run)
    if found is None:
        return None

    def uri(name: RevisionName) -> str | None:
        is_there = name.text in found.texts
        return uri_of(str(found.root / name.text)) if is_there else None

    guards = partial(RunGuards.uri, asked.run)
    return view.overview_item(
        ls.client, found.overview, uri, guards, ls.session.lines_of
    )
