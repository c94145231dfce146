"""The code that a compiler wrote for a graph, and the graph that code is of."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from msgspec import structs

from fxls.ide.hover import Beside
from fxls.ide.listing.document import Document
from fxls.ide.listing.node_times import TimedCode
from fxls.ide.listing.parent import parent_paths
from fxls.ide.source.source_file import SourceFile
from fxls.listing import KERNELS
from fxls.lsp.uris import SCHEME
from fxls.record import RevisionName, Spent
from fxls.record.kernel_times import kernel_times
from fxls.record.node_errors import captured
from fxls.serving.connection import Connection
from fxls.serving.handlers.numbers import errors_of
from fxls.serving.handlers.other_graphs import other_graphs

__all__ = ["beside", "timed", "timed_around"]

_LAST = "post-grad"
"""The stage of the graph that code is written for."""
_MOST = 8
"""So many revisions of code are looked at; the newest is nearly always the one."""


def beside(ls: Connection, document: Document) -> Beside:
    """What goes with a listing: code with its graph, and a graph with its code."""
    stage = document.listing.identity.stage
    times, errors = partial(timed, ls, document), partial(errors_of, ls, document)
    graphs = partial(other_graphs, ls, document)
    if stage.rpartition(", ")[2] == KERNELS:
        above = next(parent_paths(document), None)
        graph = ls.session.document(above) if above else None
        return Beside(graph, times=times, errors=errors)
    code = partial(_code_of, ls, document)
    return Beside(code=code, times=times, errors=errors, graphs=graphs)


def timed(ls: Connection, document: Document) -> tuple[TimedCode, ...]:
    """The code that runs measured, of the graph that a listing is a stage of."""
    identity = document.listing.identity
    if document.path.startswith(f"{SCHEME}:"):
        return ()
    known = ls.session.times.spent(Path(document.path).parent)
    graph, library = captured(identity), ls.session.library
    found = (
        _timed(library.beside(document, RevisionName(code, text)), spent)
        for (code, text), spent in known.items()
        if captured(code) == graph
    )
    return tuple(one for one in found if one is not None)


def timed_around(ls: Connection, source: SourceFile) -> tuple[TimedCode, ...]:
    """The code that runs measured, of what stands in a source."""
    found: list[TimedCode] = []
    for document in source.documents:
        identity, path = document.listing.identity, Path(document.path)
        if identity.stage.rpartition(", ")[2] == KERNELS:
            known = ls.session.times.spent(path.parent).get((identity, path.name))
            one = known and _timed(document, known)
            found += [one] if one else []
    return tuple(found)


def _timed(code: Document | None, spent: Spent) -> TimedCode | None:
    times = None if code is None else kernel_times(spent, code.listing)
    return None if code is None or times is None else TimedCode(code, times)


def _code_of(ls: Connection, document: Document) -> Document | None:
    """The newest code that was written for just this graph."""
    identity = document.listing.identity
    before, _, last = identity.stage.rpartition(", ")
    if last != _LAST or document.path.startswith(f"{SCHEME}:"):
        return None
    path = Path(document.path)
    library = ls.session.library
    code = structs.replace(identity, stage=f"{before}, {KERNELS}")
    revisions = library.store_at(path.parent).revisions(code)
    for revision in reversed(revisions[-_MOST:]):
        name = RevisionName(revision.identity, revision.path.name, revision.facts)
        found = library.beside(document, name)
        parents = () if found is None else found.listing.parents
        if parents and parents[0].file == path.name:
            return found
    return None
