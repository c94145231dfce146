"""Sees every pass that runs, and makes a revision of what those make that change a graph.

A pass is what runs in an observer of `torch.fx` or of the engine, which is what inductor
has around each of its own and of the user's; what a `PassManager` calls; and what runs
between two recompilations of a module, in a block of `fxls.passes` or in none.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any

from fxls.engine.graph_module import GraphModule
from fxls.record import OUTSIDE, Pass, RevisionName, names, pairs
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook, around
from fxls.runtime.passes.change import Change, change, with_change
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.passes.listening import PassListener
from fxls.runtime.passes.partition import PARTITION, Partition
from fxls.runtime.passes.pass_names import pass_here, pass_that_raised
from fxls.runtime.passes.plain_functions import PlainFunctions
from fxls.runtime.passes.revisions import (
    Lister,
    Point,
    head_after,
    head_before,
    head_of_half,
    note_made,
)
from fxls.runtime.passes.scope import Running, Scope, current
from fxls.runtime.producers import compiler_steps
from fxls.runtime.producers.capture import in_backend, note_capture
from fxls.runtime.producers.recompiled import of_lazy_modules, on_recompile
from fxls.runtime.producers.steps import Step
from fxls.runtime.record.recorder import Recorder

__all__ = ["ObservedPasses", "line_of"]

_LONGEST = 200
"""Characters of what a pass raised."""


class ObservedPasses:
    """What sees passes, by its hooks and for whoever runs some in a step."""

    def __init__(
        self,
        torch_fx: Lister,
        engine: Lister,
        recorder: Recorder,
        listener: PassListener | None = None,
    ) -> None:
        self._listener = listener
        self._torch_fx = torch_fx
        self._engine = engine
        self._recorder = recorder
        self._outside = Counter[str]()
        """How often each pass outside of a compilation ran."""
        self._functions = PlainFunctions(recorder, self._lister, self._outside)

    def hooks(self) -> tuple[Hook, ...]:
        """The observers that passes run in, and what runs several passes."""
        observers = (
            Hook(
                f"{package}.passes.graph_transform_observer",
                without := f"passes of {whose} are no revisions",
                {
                    "GraphTransformObserver.__enter__": around(self._enter, without),
                    "GraphTransformObserver.__exit__": around(self._exit, without),
                },
            )
            for package, whose in _PACKAGES
        )
        managers = (
            Hook(
                f"{package}.passes.infra.pass_manager",
                without := f"passes of a PassManager of {package} are no revisions",
                {"PassManager.__call__": around(self._managed, without)},
            )
            for package, _ in _PACKAGES
        )
        steps = compiler_steps.of_inductor(sorted_=self._sorted, matched=self._matched)
        functions = self._functions.hooks() if self._recorder.is_on else ()
        lazy = of_lazy_modules(self._asked_for)
        return (*functions, lazy, *observers, *managers, *steps)

    @contextlib.contextmanager
    def block(self, module: Any) -> Generator[list[Pass]]:
        """What stands in the block are passes: each ends where it recompiles the module.

        Gives the list to which each that changed the graph is added.
        """
        scope = self._scope(module)
        scope.is_asked_for = True
        self._look(scope, module)
        entered = current.set(scope)
        telling = on_recompile.set(self._recompiled)
        try:
            yield scope.seen
            self._look(scope, scope.modules[0])
        except BaseException as error:
            self._failed(scope, scope.modules[0], error)
            raise
        finally:
            on_recompile.reset(telling)
            current.reset(entered)

    @contextlib.contextmanager
    def in_step(self, module: Any, step: Step | None) -> Generator[Any]:
        """As `InStep` says."""
        scope = current.get()
        if not self._recorder.is_on or (step is None and scope is None):
            yield _nothing
        elif step is None:
            assert scope is not None, "asked above"
            scope.modules.append(module)
            try:
                yield _nothing
            finally:
                scope.modules.pop()
        else:
            outer, scope = scope, Scope(step, [module])
            if outer is None:
                self._functions.look(module)
            elif outer.modules[0] is module:
                self._look(outer, module)
            if outer is not None:
                outer.inner = scope
            begun = self._look(scope, module)
            if self._listener is not None:
                self._listener.began(step, begun.state)
            token = current.set(scope)
            try:
                yield functools.partial(self._look, scope)
            finally:
                current.reset(token)

    def follow(
        self, module: Any, compilation: str, revision: RevisionName | None = None
    ) -> None:
        """Let what a backend of the program's does to a module be passes."""
        if self._recorder.is_on:
            self._functions.follow(module, compilation, revision)

    # -- steps of AOTAutograd ----------------------------------------------------

    def scope(self) -> Scope:
        """That in which this thread is."""
        scope = current.get()
        assert scope is not None, "a step began"
        return scope

    def note(self, event: Pass) -> None:
        """Put a pass into the record."""
        self._recorder.note(event)

    def note_made(self, node: Any, name: str, olds: Sequence[Any]) -> None:
        """Let a pass of torch's have made a node in place of others."""
        self._torch_fx.note_made(node, name, olds)

    @contextlib.contextmanager
    def in_pass(self, module: Any, name: str) -> Generator[None]:
        """What stands in the block is a pass."""
        self._begin(module, name, None)
        scope, raised = self.scope(), None
        try:
            yield
        except BaseException as error:
            raised = _behind(error)
            raise
        finally:
            self._end(scope, raised)

    @contextlib.contextmanager
    def going_on(self, scope: Scope, module: Any) -> Generator[None]:
        """What ended goes on; what changed the graph in between is in no pass."""
        self._look(scope, module)
        token = current.set(scope)
        try:
            yield
        finally:
            current.reset(token)

    def changed_by(self, scope: Scope, module: Any, name: str) -> None:
        """Let what changed a graph since it was last seen be this pass."""
        known = scope.points[""]
        if not known.state.still_holds(module):
            self._between(scope, module, "", name, None)

    def made_half(
        self, scope: Scope, before: Point, module: Any, step: Step, how: Partition
    ) -> None:
        """Let a partition have made a graph of the one that a step left."""
        assert scope.step is not None, "AOTAutograd has one"
        state = GraphState(module)
        found = change(before.state, state)
        capture = step.capture
        is_first = before.revision(
            scope.step.capture, head_before(scope.step.capture, "the partition")
        )
        head = head_of_half(capture, is_first, how.lines())
        after = Point(module, self._torch_fx, state).revision(capture, head)
        event = Pass(
            PARTITION,
            1,
            step.compilation,
            producer=capture.producer,
            stage=capture.stage,
            changed=True,
            before=is_first,
            after=after,
            created=names([*found.created]),
            erased=names([*found.erased]),
            altered=names([*dict.fromkeys((*found.altered, *found.moved))]),
            saved=names([*how.saved]),
            recomputed=names([*how.recomputed]),
            reasons=pairs([*how.reasons]),
        )
        self._recorder.note(event)
        if in_backend():
            note_capture(module, capture)
            self.follow(module, step.compilation, after)
        if self._listener is not None:
            self._listener.passed(step, event, before.state, state)

    # -- observers ---------------------------------------------------------------

    def _enter(self, observer: Any, /) -> Generator[None, Any, Any]:
        if self._recorder.is_on:
            self._begin(observer.gm, observer.passname, observer)
        return (yield)

    def _exit(
        self, observer: Any, kind: object, error: Any, _traceback: object, /
    ) -> Generator[None, Any, Any]:
        scope = current.get()
        if scope is not None and any(r.observer is observer for r in scope.running):
            # What an observer inside of it did not end has ended.
            while scope.running and scope.running[-1].observer is not observer:
                scope.running.pop()
            self._end(scope, error)
        return (yield)

    def _sorted(self, graph: Any, /) -> Generator[None, Any, Any]:
        scope, module = current.get(), graph.owning_module
        if scope is None or scope.running or module is None:
            return (yield)  # it is a part of a pass
        with self.in_pass(module, _SORT):
            return (yield)

    def _matched(self, entry: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        scope = current.get()
        if scope is not None and scope.running:
            scope.running[-1].matches.add(entry)
        return (yield)

    def _managed(self, _manager: Any, module: Any, /) -> Generator[None, Any, Any]:
        if not self._recorder.is_on or not hasattr(module, "graph"):
            return (yield)
        with self.block(module):
            return (yield)

    def _asked_for(self, kind: Any, /) -> Generator[None, Any, Any]:
        """A module of this class, whose code is made when it is called, is to be
        recompiled.
        """
        self._functions.asked_for(kind)
        result = yield
        scope = current.get()
        if scope is not None and (told := on_recompile.get()) is not None:
            for module in [one for one in scope.modules if _class_of(one) is kind]:
                told(module)
        return result

    def _recompiled(self, module: Any) -> None:
        """What changed the graph since it was recompiled last is a pass that ended."""
        scope = current.get()
        if scope is None or scope.running:
            return
        with logging_faults("what is between two recompilations is no revision"):
            known = scope.points.get(path := scope.path(module))
            if known is not None and not known.state.still_holds(module):
                self._between(scope, module, path, pass_here(), None)

    def _failed(self, scope: Scope, module: Any, error: BaseException) -> None:
        error = _behind(error)
        with logging_faults("a pass that raised is no revision"):
            path = scope.path(module)
            self._between(scope, module, path, pass_that_raised(error), error)

    def _between(
        self,
        scope: Scope,
        module: Any,
        path: str,
        name: str,
        error: BaseException | None,
    ) -> None:
        """Note a pass that ran since the graph was last seen."""
        scope.counts[name] += 1
        running = Running(name, module, path, scope.points[path], 0.0)
        self._told(scope, running, None, error)

    def _scope(self, module: Any) -> Scope:
        """Where passes run that are no step's: maybe those of a backend of the program's."""
        compilation, counts = self._functions.within(module)
        return Scope(None, [module], counts=counts, compilation=compilation)

    def _lister(self, module: Any) -> Lister:
        return self._engine if isinstance(module, GraphModule) else self._torch_fx

    def _begin(self, module: Any, name: str, observer: object) -> None:
        scope = current.get()
        if scope is None:
            scope = self._scope(module)
            current.set(scope)
        point = self._look(scope, module)
        path = scope.path(module)
        scope.counts[name] += 1
        scope.running.append(
            Running(name, module, path, point, time.perf_counter(), observer)
        )

    def _end(self, scope: Scope, error: BaseException | None) -> None:
        running = scope.running.pop()
        if scope.step is None and not scope.running:
            current.set(None)
        took = time.perf_counter() - running.began
        self._told(scope, running, took, error)

    def _told(
        self,
        scope: Scope,
        running: Running,
        took: float | None,
        error: BaseException | None,
    ) -> None:
        """Make a revision of what a pass changed, and note that it ran."""
        module, before = running.module, running.before
        known = scope.points.get(running.path, before)
        now, found = known, _NOTHING
        if known is not before or not before.state.still_holds(module):
            now, found = self._changed(scope, running, known)
        capture = scope.capture(module, running.path)
        raised = None if error is None else line_of(error)
        first = last = None
        if capture is not None and (found or raised):
            title = (
                running.name if running.name == OUTSIDE else f"the pass {running.name}"
            )
            first = before.revision(capture, head_before(capture, title))
            head = head_after(capture, title, found, first, raised)
            if raised is not None:
                now = Point(module, self._lister(module))
                scope.points[running.path] = now
            last = now.revision(capture, head)
        event = Pass(
            name=running.name,
            ordinal=scope.counts[running.name],
            compilation=scope.compilation
            if scope.step is None
            else scope.step.compilation,
            producer="" if capture is None else capture.producer,
            stage="" if capture is None else capture.stage,
            under=tuple(one.name for one in scope.running),
            subgraph=running.path or None,
            seconds=took,
            raised=raised,
            before=first,
            after=last,
            patterns=running.matches.named() if found else (),
        )
        event = with_change(event, found)
        if scope.is_asked_for and (found or raised):
            scope.seen.append(event)
        self._recorder.note(event)
        if self._listener is None or scope.step is None:
            return
        if error is not None:
            self._listener.raised(scope.step, event, before.state, error)
        if found:
            self._listener.passed(scope.step, event, before.state, now.state)

    def _changed(
        self, scope: Scope, running: Running, known: Point
    ) -> tuple[Point, Change]:
        """The graph as a pass left it, and what is different."""
        module = running.module
        found: Change | None = None
        if not known.state.still_holds(module):
            before = known
            known, found = self._point(before, module, running.name)
            scope.points[running.path] = known
            if before is not running.before:
                found = None
        if found is None:
            found = change(running.before.state, known.state)
        return known, found

    def _point(self, before: Point, module: Any, name: str) -> tuple[Point, Change]:
        """The graph as it is, whose new nodes this pass made, and what is different."""
        state = GraphState(module)
        found = change(before.state, state)
        lister = self._lister(module)
        note_made(lister, name, found, before.state, state)
        return Point(module, lister, state), found

    def _look(self, scope: Scope, module: Any) -> Point:
        """The graph as it is; what changed it since it was last seen is said."""
        path = scope.path(module)
        known = scope.points.get(path)
        if known is None:
            known = scope.points[path] = Point(module, self._lister(module))
        elif not known.state.still_holds(module):
            # What changed it is the pass that this one is a part of, where it is in one.
            name = scope.running[-1].name if scope.running else OUTSIDE
            if scope.running:
                known, _ = self._point(known, module, name)
                scope.points[path] = known
            else:
                scope.counts[OUTSIDE] += 1
                self._told(
                    scope, Running(OUTSIDE, module, path, known, 0.0), None, None
                )
                known = scope.points[path]
        return known


def _nothing(_module: Any) -> None:
    """Nobody wants to know how a step left a module."""


def _behind(error: BaseException) -> BaseException:
    """What was raised, where a function that is watched ends by it."""
    if isinstance(error, GeneratorExit) and error.__context__ is not None:
        return error.__context__
    return error


def line_of(error: BaseException) -> str:
    """An error in a line, as records have it."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"[:_LONGEST]


_NOTHING = Change((), (), (), (), (), {})
_SORT = "stable_topological_sort"
_PACKAGES = (("torch.fx", "torch.fx and inductor"), ("fxls.engine", "the engine"))


_class_of: Callable[[Any], Any] = type
