"""Plain functions that change a graph and recompile its module are passes as well.

Nothing of the program has to say so. A pass then begins where the module was compiled
last, ends where it is recompiled, and has the name of the function that does that. So
are functions that change a program of torch.export, and those that a backend of the
program's calls on the modules that torch.compile gave it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from fxls.record import Pass, RevisionName
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.passes.change import Change, change, with_change
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.passes.pass_names import is_by_compiler, pass_here
from fxls.runtime.passes.revisions import Lister, note_made
from fxls.runtime.passes.scope import current
from fxls.runtime.producers.capture import (
    PLAIN,
    capture_of,
    in_backend,
    note_capture,
    of_backend,
    published_as,
)
from fxls.runtime.producers.recompiled import of_made_modules
from fxls.runtime.record.recorder import Recorder

__all__ = ["PlainFunctions"]


@dataclass(slots=True, weakref_slot=True, eq=False)
class _Compiled:
    """A graph module as it was when it was compiled last, or given to a backend."""

    state: GraphState
    revision: RevisionName | None = None
    compilation: str | None = None
    """torch's name of it, for a module that a backend was given."""
    counts: Counter[str] = field(default_factory=Counter[str])
    """How often each pass ran on such a module."""


class _Ran(NamedTuple):
    """A pass that ended, whose graph is not compiled yet."""

    name: str
    found: Change
    last: _Compiled


class PlainFunctions:
    """What sees the recompilations of modules that no compiler made, that one gave to a
    backend of the program's, or that are of programs of torch.export.
    """

    def __init__(
        self,
        recorder: Recorder,
        lister_of: Callable[[Any], Lister],
        counts: Counter[str],
    ) -> None:
        """`counts` says how often each pass outside of a compilation ran."""
        self._recorder = recorder
        self._lister_of = lister_of
        self._counts = counts
        self._by_file: WeakValueDictionary[str, _Compiled] = WeakValueDictionary()

    def hooks(self) -> tuple[Hook, ...]:
        """The recompilation of graph modules, around all that makes listings there."""
        each = (
            Hook(
                f"{package}.graph_module",
                without := f"functions that change graphs of {package} are no passes",
                {"GraphModule.recompile": around(self._recompile, without)},
            )
            for package in ("torch.fx", "fxls.engine")
        )
        made = of_made_modules(made=self._constructed, copied=self._copied)
        return (*each, made)

    def follow(
        self, module: Any, compilation: str, revision: RevisionName | None = None
    ) -> None:
        """Let what recompiles a module that a backend is given be passes.

        `revision` is how the store names the graph, where it is not what the module runs.
        """
        revision = revision or self._lister_of(module).running(module)
        self._keep(module, _Compiled(GraphState(module), revision, compilation))

    def within(self, module: Any) -> tuple[str | None, Counter[str]]:
        """The compilation whose backend was given a module, and how often each pass ran
        there; or none, and how often each ran outside.
        """
        known = _given(_class_of(module))
        if known is None:
            return None, self._counts
        return known.compilation, known.counts

    def asked_for(self, kind: Any) -> None:
        """Let a module of this class, whose code is made when it is called, be one that is
        recompiled.
        """
        known = _given(kind)
        if known is not None and _is_followed(known.state.module):
            with logging_faults(_FAULT):
                self._lazily(known.state.module)

    def look(self, module: Any) -> None:
        """Let what changed a module that a backend was given be a pass, though nobody
        recompiled it; for who is about to go on with its graph.
        """
        if _given(_class_of(module)) is not None:
            self._lazily(module)

    def _recompile(
        self, module: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        if not _is_followed(module):
            return (yield)
        begun: list[tuple[_Compiled, _Ran | None]] = []
        with logging_faults(_FAULT):
            begun.append(self._begun(module))
        code = yield
        with logging_faults(_FAULT):
            for now, ran in begun:  # none where a fault was logged
                now.revision = self._lister_of(module).running(module)
                self._ended(module, now, ran)
        return code

    def _constructed(
        self, module: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        """A module whose code is made when it is called is made of another one."""
        result = yield
        is_new = in_backend() and _LAST not in _held_by(_class_of(module))
        if is_new and not is_by_compiler():
            with logging_faults(_FAULT):
                self._lazily(module)
        return result

    def _copied(self, module: Any, /, *_: Any) -> Generator[None, Any, Any]:
        """A copy of what a backend was given is followed as well, as that of a backward
        graph is, which torch keeps for later.
        """
        copy = yield
        known = _given(_class_of(module))
        if known is not None and known.compilation is not None:
            with logging_faults(_FAULT):
                note_capture(copy, published_as(module))
                self.follow(copy, known.compilation, known.revision)
        return copy

    def _lazily(self, module: Any) -> None:
        """Let what changed a module be a pass, though its code is not made yet."""
        now, ran = self._begun(module)
        if ran is not None:
            revised = self._lister_of(module).kept(module)(published_as(module))
            now.revision = RevisionName(revised.identity, revised.file)
        if ran is not None or now.compilation is not None:
            self._ended(module, now, ran)

    def _begun(self, module: Any) -> tuple[_Compiled, _Ran | None]:
        """What is about to be compiled, and the pass that made it of what was before."""
        lister = self._lister_of(module)
        last = self._last(lister, module)
        is_same = last is not None and last.state.still_holds(module)
        if is_same and last is not None and last.state.module is module:
            return last, None
        now = _Compiled(GraphState(module, last and last.state))
        if last is None:
            return now, None
        if last.compilation is not None:
            now.compilation, now.counts = last.compilation, last.counts
        # In a block, an observer or a step of a compiler it is told there.
        if current.get() is not None:
            return now, None
        if last.compilation is not None and (given := last.state.module) is not module:
            note_capture(module, of_backend(published_as(given), given.graph))
        if is_same:
            now.revision = last.revision
        if is_same or _is_by_torch(module, last):
            return now, None
        ran = _Ran(pass_here(), change(last.state, now.state), last)
        note_made(lister, ran.name, ran.found, last.state, now.state)
        return now, ran

    def _ended(self, module: Any, now: _Compiled, ran: _Ran | None) -> None:
        self._keep(module, now)
        if ran is not None:
            self._note(ran, now.revision)

    def _keep(self, module: Any, now: _Compiled) -> None:
        setattr(_class_of(module), _LAST, now)
        if now.revision is not None:
            self._by_file[now.revision.text] = now

    def _last(self, lister: Lister, module: Any) -> _Compiled | None:
        """The module when it was compiled last, or what a new one was made from."""
        known = _held_by(_class_of(module)).get(_LAST)
        if known is None and (file := lister.made_from(module)) is not None:
            known = self._by_file.get(file)
        return known

    def _note(self, ran: _Ran, after: RevisionName | None) -> None:
        compilation = ran.last.compilation
        counts = self._counts if compilation is None else ran.last.counts
        counts[ran.name] += 1
        event = Pass(
            ran.name,
            counts[ran.name],
            compilation,
            producer="" if after is None else after.identity.producer,
            stage="" if after is None else after.identity.stage,
            before=ran.last.revision,
            after=after,
        )
        self._recorder.note(with_change(event, ran.found))


def _given(kind: Any) -> _Compiled | None:
    """What is known of a module of this class that a backend was given."""
    known: _Compiled | None = _held_by(kind).get(_LAST)
    return None if known is None or known.compilation is None else known


def _is_followed(module: Any) -> bool:
    """Whether what makes the code of a module may be the end of a pass."""
    capture = capture_of(module)
    if capture is None or capture is PLAIN or capture.producer == _EXPORT:
        return capture is not None
    is_given = in_backend() or _LAST in _held_by(_class_of(module))
    return is_given and not is_by_compiler()


def _is_by_torch(module: Any, last: _Compiled) -> bool:
    """Whether torch.export changed a module that is of a program, or made it."""
    is_program = last.compilation is None and capture_of(module) is not PLAIN
    return is_program and (last.state.module is not module or is_by_compiler())


_class_of: Callable[[Any], Any] = type
_held_by: Callable[[Any], Mapping[str, Any]] = vars
_EXPORT = "torch.export"
_LAST = "_fxls_compiled"
"""Of the class of a graph module, which each has for itself: copies of the module do not
have it, and it lives as long."""
_FAULT = "a function that changed a graph is no pass"
