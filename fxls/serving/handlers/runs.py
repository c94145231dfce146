"""What an extension shows of runs: a list, and what each did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fxls.lsp import params
from fxls.lsp import run_view as view
from fxls.lsp.graph_view import place_item
from fxls.lsp.uris import uri_of
from fxls.serving.connection import Connection
from fxls.serving.run_guards import RunGuards
from fxls.serving.run_overviews import OverviewInStore

__all__ = ["on_run", "on_runs"]


def on_runs(ls: Connection, asked: params.Nothing) -> list[view.RunItem]:
    library = ls.session.library
    found = library.overviews.newest(library.roots_about(None))
    return [view.run_item(one.run, one.summary, one.state) for one in found]


def on_run(ls: Connection, asked: params.OfRun) -> view.OverviewItem | None:
    library = ls.session.library
    roots = library.roots_about(None)
    found = library.overviews.overview(roots, asked.run, library.store_at)
    if found is None:
        return None

    def uri(text: str) -> str | None:
        return uri_of(str(found.root / text)) if text in found.texts else None

    guards = partial(RunGuards.uri, asked.run)
    lines_of = ls.session.lines_of
    ranks = tuple(_ranks(ls, found, uri))
    return view.overview_item(ls.client, found.overview, uri, guards, lines_of, ranks)


def _ranks(
    ls: Connection, found: OverviewInStore, uri: Callable[[str], str | None]
) -> Iterator[view.RankItem]:
    differing = {one.rank: one for one in found.differences}
    for each in found.ranks:
        run = view.run_item(each.run, each.summary, each.state)
        rank = each.run.rank
        assert rank is not None, "it is a rank"
        one = differing.get(rank)
        if one is None:
            yield view.RankItem(rank, run)
        elif one.first is None:
            yield view.RankItem(rank, run, one.graph, one.summary)
        else:
            node, place = one.first, one.first.place
            yield view.RankItem(
                *(rank, run, one.graph, one.summary, node.name),
                *(uri(node.text), node.line),
                place and place_item(ls.client, place, ls.session.lines_of),
            )
