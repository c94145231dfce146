"""Graph modules of torch's own FX run from files of the store.

torch compiles each of them in one place, which gets a text and a table of names. Here
the text becomes a listing and is compiled under the listing's path; the facts, which
take longer, are written a moment later.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

from msgspec import structs

from fxls.code_cache import CodeCache
from fxls.engine.code.codegen import MarkedCode, marked_code
from fxls.engine.graph import Graph
from fxls.engine.ir import gc_pause
from fxls.engine.written_class import written_class
from fxls.listing import Identity, Listing, Parent, ToClass
from fxls.record import RevisionName
from fxls.runtime.debugging.breakpoints import Breakpoints
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.listings.given_text import GivenText
from fxls.runtime.listings.head import Leading, head_of
from fxls.runtime.listings.keeping import KeepValues
from fxls.runtime.listings.layout import Layout
from fxls.runtime.listings.module_names import importable_name
from fxls.runtime.listings.rank import rank
from fxls.runtime.listings.tables import source_digest
from fxls.runtime.producers.capture import (
    PLAIN,
    Capture,
    Revised,
    capture_of,
    note_file,
    parents_by,
    published_as,
    with_reason,
)
from fxls.runtime.producers.deferred import DeferredWork
from fxls.runtime.producers.kept_copy import KeptCopy
from fxls.runtime.producers.recompiled import on_recompile
from fxls.runtime.producers.snapshot import Snapshot, is_symbolic
from fxls.runtime.producers.torch_errors import explain_errors, explain_errors_in
from fxls.runtime.producers.torch_tracer import MadeBy, TorchTracer
from fxls.runtime.running_code import RunningCode
from fxls.runtime.torch_private import fx
from fxls.store import Store, digest_of
from fxls.store.names import file_name

__all__ = ["TorchFx", "lister"]


class TorchFx:
    """What makes listings of torch's graph modules, while it is put in."""

    def __init__(
        self,
        store: Store,
        codes: MutableMapping[Path, CodeType],
        cache: CodeCache,
        keeping: KeepValues,
        breakpoints: Breakpoints,
        running_code: RunningCode,
        later: DeferredWork,
        tracing: TorchTracer,
    ) -> None:
        """`codes` are those that live, by the paths of their listings; the facts are
        written `later`.
        """
        self._store = store
        self._codes = codes
        self._cache = cache
        self._keeping = keeping
        self._breakpoints = breakpoints
        self._running_code = running_code
        self._later = later
        self._tracing = tracing

    def hooks(self) -> tuple[Hook, ...]:
        """What gives the text of a graph to be compiled."""
        return (
            Hook(
                "torch.fx.graph_module",
                _WITHOUT,
                {
                    "GraphModule.recompile": around(_recompile, _WITHOUT),
                    "_exec_with_source": around(self._compile, _WITHOUT),
                },
            ),
        )

    def root(self, module: Any) -> tuple[str, str] | None:
        """Module and qualified name of what a graph module was made of."""
        graph = module._graph
        known = published_as(module).root or self._tracing.root(graph)
        return known or Snapshot(graph, self._tracing.origins).root()

    def stage(self, module: Any) -> str:
        """Which part of that a graph module is, or which step of a compiler made it."""
        return published_as(module).stage or self._tracing.stage(module._graph)

    def listing(self, module: Any) -> Listing:
        """The listing of a graph module as its graph is now."""
        code = module._graph.python_code(root_module="self")
        capture = published_as(module)
        return self._made(module, capture, code.src, code.globals).listing()

    def publish(self, module: Any) -> Path | None:
        """Write the listing of a module that perhaps nobody runs."""
        with logging_faults("a graph module of torch.fx is no listing"):
            capture = published_as(module)
            snapshot = Snapshot(module._graph, self._tracing.origins)
            if snapshot.has_rules_of_its_own():  # by which all of it may be written
                code = module._graph.python_code(root_module="self")
                made = self._made(module, capture, code.src, code.globals, snapshot)
            else:  # twice as fast, and the facts need it anyway
                made = self._written(module, capture, snapshot, snapshot.graph())
            return self._write(module, made)
        return None

    def kept(self, module: Any) -> Callable[[Capture], Revised]:
        """What writes the listing of a graph as it is at this moment, when it is called.

        A graph that the module runs has a listing already, unless a compiler made it.
        """
        graph = module._graph
        snapshot = Snapshot(graph, self._tracing.origins, copies_notes=True)

        def write(capture: Capture) -> Revised:
            copied = snapshot.graph()
            runs = parents_by(graph)
            is_plain = capture.producer == PLAIN.producer and bool(runs)
            marked = marked_code(copied)
            if is_plain and marked.code.src == getattr(module, "_code", None):
                made = self._written(module, PLAIN, snapshot, copied, marked)
                # It was written before anybody knew which pass made its nodes.
                path = self._store.path_of(made.identity.class_name, made.layout.text)
                if path.name == runs[0].file and made.is_by_passes:
                    key = (path, made.identity)
                    self._later.add(key, lambda: self._write_facts(path, made))
                return Revised(runs[0].identity, runs[0].file)
            made = self._written(module, capture, snapshot, copied, marked)
            path = self._store.write_text(made.identity.class_name, made.layout.text)
            if is_symbolic(copied):
                made.listing()
            key = (path, made.identity)
            self._later.add(key, lambda: self._write_facts(path, made))
            return Revised(made.identity, path.name)

        return write

    def note_made(self, node: Any, name: str, olds: Sequence[Any]) -> None:
        """Let a pass have made a node in place of others."""
        self._tracing.note_made(node, name, olds)

    def running(self, module: Any) -> RevisionName | None:
        """The revision that a module runs; None where its code is in no store."""
        known = parents_by(module._graph)
        return RevisionName(known[0].identity, known[0].file) if known else None

    def made_from(self, module: Any) -> str | None:
        """The file of the listing that a new module's graph is of, or was made from."""
        return self._tracing.made_from(module._graph)

    def _compile(
        self,
        src: str,
        globals: dict[str, Any],  # noqa: A002 - torch's signature
        co_fields: dict[str, Any] | None = None,
    ) -> Generator[None]:
        """Compile a text, as a listing if it is that of a graph module."""
        # torch's profiler finds a file that is named so, and its own alone.
        is_profiled = bool(co_fields) and "co_name" not in (co_fields or {})
        module = _compiled.get()
        made: tuple[Path, CodeType] | None = None
        if module is not None and src is module._code:
            with logging_faults("a graph module of torch.fx runs from memory"):
                made = self._materialize(module, src, globals)
        if made is None or is_profiled:
            yield
            return
        path, code = made
        globals["__file__"] = str(path)
        globals[_KEPT] = code
        exec(code, globals)
        # A code object of its own, because torch.compile keeps what it compiled by
        # code object, and bounds how much that may be.
        forward = globals["forward"]
        forward.__code__ = forward.__code__.replace()
        self._running_code.made(forward, path)

    def _materialize(
        self, module: Any, source: str, values: dict[str, Any]
    ) -> tuple[Path, CodeType] | None:
        """Write the text of a listing and compile it; the facts follow."""
        capture = capture_of(module)
        if capture is None:
            return None
        made = self._made(module, capture, source, values)
        path = self._store.path_of(made.identity.class_name, made.layout.text)
        code = self._codes.get(path)
        if code is None:
            code = made.layout.compiled(str(path), self._cache)
        else:
            self._breakpoints.look(path)
        if made.layout.is_divided:
            # torch.compile finds what is noted of a node by its line.
            module._lineno_map = made.layout.lines(module._lineno_map)
        self._write(module, made)
        if path not in self._codes:
            self._codes[path] = code
            explain_errors_in(path, lambda: self._read(path))
        self._breakpoints.materialized(path)
        return path, code

    def _write(self, module: Any, made: _Made) -> Path:
        """Write the text now, and the facts soon."""
        path = self._store.write_text(made.identity.class_name, made.layout.text)
        parents = (one for one in made.lineage() if one.file != path.name)
        note_file(module._graph, made.identity, path.name, tuple(parents))
        if is_symbolic(module._graph):
            made.listing()
        # A trace of this very text must not take the place of who wrote it.
        # Nor must a graph without origins, as one that was unpickled or loaded.
        key = (path, made.identity, made.is_of(path), *made.has_origins())
        self._later.add(key, lambda: self._write_facts(path, made))
        return path

    def _write_facts(self, path: Path, made: _Made) -> None:
        # Paused, because it would walk what is made here a few times, and once more if
        # it were still there at the end.
        with logging_faults("a listing has no facts"), gc_pause.paused():
            self._materialize_listing(path, made)
            made.let_go()

    def _materialize_listing(self, path: Path, made: _Made) -> None:
        listing = made.listing()
        if not self._holds_more(path, listing, made.is_of(path)):
            self._store.materialize(listing)

    def _read(self, path: Path) -> Listing | None:
        self._later.finish()
        return self._store.read_if_whole(path)

    def _holds_more(self, path: Path, listing: Listing, is_of_it: bool) -> bool:  # noqa: FBT001 - one caller
        """Whether the store knows what this graph does not know of: values, or, of one
        that was traced from this very text or knows no source, as one that was
        unpickled, everything but the text; of a program that was loaded, the inputs.
        """
        has_values = any(facts.value is not None for facts in listing.nodes)
        is_program = listing.identity.producer == "torch.export"
        if has_values and (not is_program or _knows_inputs(listing)):
            return False
        known = self._store.read_if_whole(path) if self._store.has_facts(path) else None
        if known is None:
            return False
        if has_values and not _knows_inputs(known):
            return False
        if is_of_it and not has_values:
            return known.identity.producer == listing.identity.producer
        if known.sources and not listing.sources:
            return known.identity == listing.identity
        fresh = all(source_digest(s.path) == s.digest for s in known.sources)
        had_values = any(facts.value is not None for facts in known.nodes)
        return fresh and had_values and known.identity == listing.identity

    def _written(
        self,
        module: Any,
        capture: Capture,
        snapshot: Snapshot,
        copied: Graph,
        code: MarkedCode | None = None,
    ) -> _Made:
        """What the engine writes of a copied graph: the same text, and its marks."""
        code = code or marked_code(copied)
        values = dict(code.code.globals)
        if "fx_pytree" in values:
            values["fx_pytree"] = fx._pytree
        made = self._made(module, capture, code.code.src, values, snapshot)
        made.is_written_as(copied, code)
        return made

    def _made(
        self,
        module: Any,
        capture: Capture,
        source: str,
        values: dict[str, Any],
        snapshot: Snapshot | None = None,
    ) -> _Made:
        graph = module._graph
        snapshot = snapshot or Snapshot(graph, self._tracing.origins)
        is_plain, capture = capture is PLAIN, with_reason(capture)
        root = capture.root or self._tracing.root(graph) or snapshot.root()
        if root is None:
            kind = written_class(type(module))  # pyright: ignore[reportUnknownArgumentType]  # any module
            root = (kind.__module__, kind.__name__)
        identity = Identity(
            *(importable_name(root[0]), root[1], capture.producer),
            *(capture.stage or self._tracing.stage(graph), rank()),
        )
        name = Leading(identity.class_name, ToClass())
        first = ("The code of ", name, _WRITTEN.format(identity.producer))
        head = head_of([first, *capture.header])
        keeps = bool(self._keeping)
        layout = Layout(source, head, values, snapshot.paths, keeps_values=keeps)
        if is_plain:
            capture = replace(capture, parents=self._tracing.parents(graph))
        passes = self._tracing.made_by(snapshot.nodes())
        return _Made(module, snapshot, identity, source, layout, capture, passes)


def _knows_inputs(listing: Listing) -> bool:
    inputs = (facts for facts in listing.nodes if facts.opcode == "placeholder")
    return any(facts.origin is not None for facts in inputs)


def _recompile(module: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
    """Say in the meantime whose code is being made."""
    token = _compiled.set(module)
    try:
        code = yield
    finally:
        _compiled.reset(token)
    explain_errors(type(module))
    if (told := on_recompile.get()) is not None:
        told(module)
    return code


def lister() -> TorchFx:
    """What makes listings without an installation, and writes none."""
    store = Store(Path())
    breakpoints = Breakpoints(store, running=lambda: (), break_into=lambda _: None)
    running_code = RunningCode(instances=lambda _: ())
    parts = (KeepValues(), breakpoints, running_code, DeferredWork(), TorchTracer())
    return TorchFx(store, {}, CodeCache(), *parts)


class _Made:
    """One listing under way: its text, and what its facts will be made of."""

    def __init__(
        self,
        module: Any,
        snapshot: Snapshot,
        identity: Identity,
        source: str,
        layout: Layout,
        capture: Capture,
        passes: tuple[MadeBy | None, ...],
    ) -> None:
        self.identity = identity
        self._passes = passes
        self.layout = layout
        self._capture = capture
        self._module = module
        self._snapshot = snapshot
        self._source = source
        self._listing: Listing | None = None
        self._written: tuple[Graph, MarkedCode] | None = None

    @property
    def is_by_passes(self) -> bool:
        """Whether passes made any of its nodes."""
        return any(self._passes)

    def is_written_as(self, graph: Graph, code: MarkedCode) -> None:
        """Let what wrote the text be known, which else is made for the facts."""
        self._written = graph, code

    def is_of(self, path: Path) -> bool:
        """Whether it was traced from the text at a path."""
        return self._snapshot.is_of(str(path))

    def has_origins(self) -> tuple[bool, bool]:
        """Whether an input, and whether any node, says where it came from."""
        return self._snapshot.has_origins()

    def listing(self) -> Listing:
        """All of it; the same one from then on."""
        if self._listing is None:
            kept = KeptCopy(self._module)
            graph, written = self._written or kept.written(self._snapshot, self._source)
            given = GivenText(
                *(self._module, graph, self.identity, self._source, self.layout),
                self._parents(),
                written,
                computes_gradients=self._capture.computes_gradients,
                remarks=self._capture.remarks,
                parameters=self._capture.parameters,
            )
            listing = _with_passes(given.listing(), self._passes)
            self._listing = _with_paths(listing, self._snapshot.input_paths())
            kept.put_back()
            self._written = None
        return self._listing

    def let_go(self) -> None:
        """Hold the listing no more, which is made again if anybody asks."""
        self._listing = None

    def lineage(self) -> tuple[Parent, ...]:
        """What it was made from, as far as that is known by now."""
        return self._capture.lineage()

    def _parents(self) -> tuple[Parent, ...]:
        """The parents; a graph that passes did not change is none of its own."""
        parents = self.lineage()
        if not parents:
            return ()
        text = self.layout.text.encode()
        own = file_name(self.identity.class_name, digest_of(text))
        return tuple(parent for parent in parents if parent.file != own)


def _with_passes(listing: Listing, passes: tuple[MadeBy | None, ...]) -> Listing:
    """A listing with the passes that are known to have made its nodes."""
    if not any(passes):
        return listing
    rows = zip(listing.nodes, passes, strict=True)
    nodes = tuple(
        facts
        if by is None
        else structs.replace(
            facts, passes=facts.passes or by.passes, made_from=by.nodes
        )
        for facts, by in rows
    )
    return structs.replace(listing, nodes=nodes)


def _with_paths(listing: Listing, paths: Mapping[str, str]) -> Listing:
    """A listing with the paths of inputs that are parameters and buffers."""
    if not paths:
        return listing
    nodes = (
        structs.replace(facts, detail=paths[facts.name])
        if facts.opcode == "placeholder" and facts.name in paths
        else facts
        for facts in listing.nodes
    )
    return structs.replace(listing, nodes=tuple(nodes))


_WITHOUT = "graph modules of torch.fx run from memory"
_WRITTEN = "'s graph, made by {} and written by fxls."
_KEPT = "__fxls_code__"
"""Keeps the compiled text alive as long as a function of it."""

_compiled: ContextVar[Any] = ContextVar("fxls_compiled", default=None)
"""The graph module whose code is being made."""
