"""Plain functions that change a graph and recompile its module are passes as well.

Nothing of the program has to say so. A pass then begins where the module was compiled
last, ends where it is recompiled, and has the name of the function that does that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from fxls.record import Pass, RevisionName
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.passes.change import Change, change, with_change
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.passes.pass_names import pass_here
from fxls.runtime.passes.revisions import Lister, note_made
from fxls.runtime.passes.scope import current
from fxls.runtime.producers.capture import PLAIN, capture_of
from fxls.runtime.record.recorder import Recorder

__all__ = ["PlainFunctions"]


@dataclass(slots=True, weakref_slot=True, eq=False)
class _Compiled:
    """A graph module as it was when it was compiled last."""

    state: GraphState
    revision: RevisionName | None = None


class _Ran(NamedTuple):
    """A pass that ended, whose graph is not compiled yet."""

    name: str
    found: Change
    before: RevisionName | None


class PlainFunctions:
    """What sees the recompilations of modules that no compiler made."""

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
        return tuple(
            Hook(
                f"{package}.graph_module",
                without := f"functions that change graphs of {package} are no passes",
                {"GraphModule.recompile": around(self._recompile, without)},
            )
            for package in ("torch.fx", "fxls.engine")
        )

    def _recompile(
        self, module: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        if capture_of(module) is not PLAIN:
            return (yield)
        begun: tuple[_Compiled, _Ran | None] | None = None
        with logging_faults(_FAULT):
            begun = self._begun(module)
        code = yield
        with logging_faults(_FAULT):
            self._ended(module, begun)
        return code

    def _begun(self, module: Any) -> tuple[_Compiled, _Ran | None]:
        """What is about to be compiled, and the pass that made it of what was before."""
        lister = self._lister_of(module)
        last = self._last(lister, module)
        is_same = last is not None and last.state.still_holds(module)
        if is_same and last is not None and last.state.module is module:
            return last, None
        now = _Compiled(GraphState(module))
        # In a block, an observer or a step of a compiler it is told there.
        if last is None or is_same or current.get() is not None:
            return now, None
        ran = _Ran(pass_here(), change(last.state, now.state), last.revision)
        note_made(lister, ran.name, ran.found, last.state, now.state)
        return now, ran

    def _ended(self, module: Any, begun: tuple[_Compiled, _Ran | None] | None) -> None:
        if begun is None:
            return  # a fault was logged
        now, ran = begun
        now.revision = self._lister_of(module).running(module)
        setattr(_class_of(module), _LAST, now)
        if now.revision is not None:
            self._by_file[now.revision.text] = now
        if ran is not None:
            self._note(ran, now.revision)

    def _last(self, lister: Lister, module: Any) -> _Compiled | None:
        """The module when it was compiled last, or what a new one was made from."""
        known = _held_by(_class_of(module)).get(_LAST)
        if known is None and (file := lister.made_from(module)) is not None:
            known = self._by_file.get(file)
        return known

    def _note(self, ran: _Ran, after: RevisionName | None) -> None:
        self._counts[ran.name] += 1
        event = Pass(
            ran.name,
            self._counts[ran.name],
            producer="" if after is None else after.identity.producer,
            stage="" if after is None else after.identity.stage,
            before=ran.before,
            after=after,
        )
        self._recorder.note(with_change(event, ran.found))


_class_of: Callable[[Any], Any] = type
_held_by: Callable[[Any], Mapping[str, Any]] = vars
_LAST = "_fxls_compiled"
"""Of the class of a graph module, which each has for itself: copies of the module do not
have it, and it lives as long."""
_FAULT = "a function that changed a graph is no pass"
