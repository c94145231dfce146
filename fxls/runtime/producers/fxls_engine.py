"""Graph modules of the engine run from files of the store.

What cannot be written is logged once, and runs from memory, as without fxls.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from fxls import regular_file
from fxls.code_cache import CodeCache
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.copying import copy_of
from fxls.engine.module import compile as engine_compile
from fxls.engine.module.compile import ForwardCode, compile_in_memory
from fxls.engine.origins.resolve import merge
from fxls.listing import Listing
from fxls.record import RevisionName
from fxls.runtime.debugging.breakpoints import Breakpoints
from fxls.runtime.listings.keeping import KeepValues
from fxls.runtime.listings.listing_text import ListingText
from fxls.runtime.listings.tables import source_digest
from fxls.runtime.producers.capture import Capture, Revised
from fxls.runtime.producers.recompiled import on_recompile
from fxls.runtime.running_code import RunningCode
from fxls.said_once import SaidOnce
from fxls.store import Store, StoreError

__all__ = ["FxlsEngine"]

_log = logging.getLogger("fxls")


class FxlsEngine:
    """The engine's compiler that writes a text to the store and compiles it there."""

    def __init__(
        self,
        store: Store,
        codes: MutableMapping[Path, CodeType],
        cache: CodeCache,
        keeping: KeepValues,
        breakpoints: Breakpoints,
        running_code: RunningCode,
    ) -> None:
        """`codes` are those that live, by the paths of their listings."""
        self._store = store
        self._codes = codes
        self._cache = cache
        self._keeping = keeping
        self._breakpoints = breakpoints
        self._running_code = running_code
        self._said = SaidOnce()
        self._running: WeakKeyDictionary[Graph, RevisionName] = WeakKeyDictionary()

    def __call__(self, module: GraphModule, code: ForwardCode, /) -> FunctionType:
        """The forward of a module, compiled under the path of its listing."""
        text = ListingText(module, code.graph, keeps_values=bool(self._keeping))
        code.take(text.code.code, text.layout.lines)
        path = self._store.path_of(text.identity.class_name, text.text)
        if path in self._codes:
            self._breakpoints.look(path)
        try:
            self._materialize(path, text, lambda: ListingText(module, code.graph))
        except StoreError as error:
            self._say(error)
            if not _holds(path, text.text):
                self._running.pop(module.graph, None)
                code.take(text.code.code)
                return compile_in_memory(module, code)
        compiled = self._codes.get(path)
        if compiled is None:
            # The text that runs is the one that is shown, whatever happens to the file.
            compiled = text.layout.compiled(str(path), self._cache)
            self._codes[path] = compiled
        self._breakpoints.materialized(path)
        names = dict(code.globals)
        names["__file__"] = str(path)
        names[_KEPT] = compiled
        function = engine_compile.run_definition(
            compiled, names, engine_compile.function_name(code.graph)
        )
        self._running_code.made(function, path)
        self._running[module.graph] = RevisionName(text.identity, path.name)
        if (told := on_recompile.get()) is not None:
            told(module)
        return function

    def kept(self, module: GraphModule) -> Callable[[Capture], Revised]:
        """What writes the listing of a graph as it is at this moment, when it is called.

        A graph that the module runs has a listing already.
        """
        # A pass may leave a node in front of what it uses.
        graph = copy_of(module.graph)

        def write(capture: Capture) -> Revised:
            text = ListingText(module, graph, capture.header)
            if text.code.code.src == module.code:
                running = Path(cast("Any", type(module).forward).__code__.co_filename)
                if running.parent == self._store.root:
                    known = self._known(running)
                    if known is None or all(one.value is None for one in known.nodes):
                        # It was written before its nodes had origins.
                        self._store.materialize(ListingText(module, graph).listing())
                    return Revised(text.identity, running.name)
            return Revised(text.identity, self._store.materialize(text.listing()).name)

        return write

    def note_made(self, node: Any, name: str, olds: Sequence[Any]) -> None:
        """Let a pass have made a node in place of others, whose origins it then has."""
        if node._frames is None:
            node._frames = merge(old._frames for old in olds)

    def running(self, module: GraphModule) -> RevisionName | None:
        """The revision that a module runs; None where its code is in no store."""
        return self._running.get(module.graph)

    def made_from(self, module: GraphModule) -> str | None:
        """The file of the listing that the graph of a new module has already."""
        known = self._running.get(module.graph)
        return None if known is None else known.text

    def _materialize(
        self, path: Path, text: ListingText, freeing: Callable[[], ListingText]
    ) -> None:
        """Write a listing; `freeing` gives the one of this graph that keeps no value."""
        known = self._known(path)
        if known is not None and not _says_less(known, text):
            return
        listing = text.listing()
        if self._keeping and not text.has_values():
            # A trace with example inputs, which keeps none, has written shapes.
            other = freeing()
            known = self._known(
                self._store.path_of(other.identity.class_name, other.text)
            )
            if known is not None and known.identity == listing.identity:
                listing = _with_values(listing, known)
        self._store.materialize(listing)

    def _known(self, path: Path) -> Listing | None:
        """The listing as it is in the store, when it is as true as one made now."""
        if not path.exists():
            return None
        listing = self._store.read_if_whole(path)
        if listing is None:
            return None  # materializing writes it again, and says so
        fresh = all(source_digest(s.path) == s.digest for s in listing.sources)
        return listing if fresh else None

    def _say(self, trouble: StoreError) -> None:
        if self._said.is_first(trouble.problem):
            _log.warning("fxls keeps generated code in memory: %s", trouble)


def _holds(path: Path, text: str) -> bool:
    """Whether the text is there although the store cannot be written."""
    try:
        data = text.encode()
        return regular_file.read_no_link(path, len(data)) == data
    except OSError:
        return False


def _with_values(listing: Listing, known: Listing) -> Listing:
    """A listing with what another one of the same graph knows of values."""
    values = {facts.name: facts.value for facts in known.nodes}
    nodes = tuple(
        [replace(facts, value=values.get(facts.name)) for facts in listing.nodes]
    )
    return replace(listing, nodes=nodes)


def _says_less(listing: Listing, text: ListingText) -> bool:
    """Whether the graph knows of another identity, or of values that a listing lacks.

    A trace with example inputs has written shapes; a run, which has none, must not put
    a listing without them in front of it.
    """
    return listing.identity != text.identity or (
        text.has_values() and all(facts.value is None for facts in listing.nodes)
    )


_KEPT = "__fxls_code__"
"""Keeps the compiled text alive as long as a function of it."""
