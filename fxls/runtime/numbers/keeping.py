"""Keeps the graphs of each compilation and the inputs of its first call, by hooks."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from fxls.engine.origins.from_frames import innermost
from fxls.record import Pass, RevisionName
from fxls.rules import Rule
from fxls.runtime.checks.verdict import is_finite, not_finite
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook
from fxls.runtime.numbers.as_python.asking import Asking
from fxls.runtime.numbers.graphs import is_on_gpu, leaves, randomness
from fxls.runtime.numbers.judgements import ListingsOf
from fxls.runtime.numbers.kept import (
    Behind,
    Change,
    Copies,
    Crash,
    Decomposed,
    KeptCall,
    KeptCompilation,
    Lowered,
)
from fxls.runtime.numbers.leaving import left_behind, overlaps, watch_backward
from fxls.runtime.numbers.raisers import lowered_node, raisers_in
from fxls.runtime.numbers.remade import as_it_is
from fxls.runtime.numbers.room import Values
from fxls.runtime.numbers.settings import settings_of
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.passes.observed_passes import line_of
from fxls.runtime.producers import compiled_calls
from fxls.runtime.producers.backends import (
    is_torchs,
    name_of_backend,
    name_of_compiler,
)
from fxls.runtime.producers.capture import capture_of, is_hushed
from fxls.runtime.producers.compiler_steps import is_given_gradients
from fxls.runtime.producers.steps import Step
from fxls.runtime.torch_private import compile_id, fx, is_autocast
from fxls.verdicts.comparison import Kind

__all__ = ["Keeping"]

_FAILED = "the numbers of a compilation are not compared"
_MOST = 4_000
"""So many decompositions of one compilation are kept."""


def _nothing() -> None:
    """Where nothing is to be done before a compilation."""


class Keeping:
    """What is kept, from `hooks` and from being told of passes."""

    def __init__(
        self,
        most_bytes: int,
        before_compiling: Callable[[], None] = _nothing,
        rules: Sequence[Rule] = (),
        *,
        is_asking_python: bool = False,
    ) -> None:
        """With `rules`, the first call is kept of which something breaks one; of the calls
        that are kept, Python may be asked what it does in their place.
        """
        self._rules = rules
        self._asking = Asking() if is_asking_python else None
        self.compilations: list[KeptCompilation] = []
        self.called: Callable[[str], str] = str
        """What the record calls a compilation, by torch's name, which may repeat."""
        self.listings_of: ListingsOf = _none_of
        """The listings of a compilation, by the record's name of it."""
        self._latest: dict[str, KeptCompilation] = {}
        """By torch's name."""
        self.copies = Copies(most_bytes)
        self._before_compiling = before_compiling
        self._here = threading.local()

    def hooks(self) -> tuple[Hook, ...]:
        """Where compiled functions are handed over."""
        return compiled_calls.of_compiled_calls(
            captured=self._captured,
            compiled=self._compiled,
            interpreted=self._interpreted,
            lowered=self._lowered,
            written=self._written,
            decomposed=self._decomposed,
            behind=self._behind,
        )

    # -- passes ------------------------------------------------------------------

    def began(self, step: Step, state: GraphState, /) -> None:
        """A step began with a graph."""
        kept = self._latest.get(step.compilation)
        if kept is None:
            return
        state.keep_what_nodes_say()
        stage = step.capture.stage
        if stage.endswith(", traced") and kept.traced is None:
            kept.traced, kept.traced_stage = state, stage
        if stage.endswith(", pre-grad") and kept.given_on is None:
            kept.given_on = as_it_is(state.module)

    def passed(
        self, step: Step, told: Pass, before: GraphState, after: GraphState, /
    ) -> None:
        """A pass changed a graph."""
        kept = self._latest.get(step.compilation)
        if kept is not None:
            after.keep_what_nodes_say()
            kept.changes.append(Change(step, told, before, after))

    def raised(
        self, step: Step, told: Pass, before: GraphState, error: BaseException, /
    ) -> None:
        """A pass raised."""
        kept = self._latest.get(step.compilation)
        if kept is not None and kept.crash is None:
            where = (step.capture.stage, told.name, told.ordinal)
            before.keep_what_nodes_say()
            kept.crash = Crash(
                *(Kind.PASS, *where, told.raised or ""),
                raisers=raisers_in(error),
                given=before,
            )

    # -- compiled functions ------------------------------------------------------

    def _captured(
        self, output: Any, /, gm: Any, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        if is_hushed():
            return (yield)
        self._before_compiling()
        name = str(gm.meta.get("dynamo_compile_id"))
        state = as_it_is(gm)
        backend = output.compiler_fn
        call = KeptCall(state.inputs)
        kept = KeptCompilation(
            self.called(name),
            "",
            name_of_backend(backend),
            is_torchs(backend),
            state,
            call,
            called_by=innermost(inspect.currentframe()),
        )
        before = self._latest.get(name)
        if before in self.compilations and not before.call.happened:
            self.compilations.remove(before)  # an attempt, in whose place is this one
        self._latest[name] = kept
        self.compilations.append(kept)
        try:
            compiled = yield
        except GeneratorExit as end:
            of = _stage(gm), kept.backend
            _note_raised(kept, Kind.BACKEND, of, end.__context__)
            raise
        with logging_faults(_FAILED):
            kept.stage = _stage(gm)
            if kept.is_in_cuda_graph:
                return compiled
            if kept.given_on is None and _is_of(compiled, gm):
                kept.given_on = as_it_is(gm)
            return self._seen(compiled, kept, call, is_boxed=False, is_whole=True)
        return compiled

    def _compiled(self, gm: Any, *_: Any, **named: Any) -> Generator[None, Any, Any]:
        kept = self._latest.get(compile_id())
        if kept is None or getattr(self._here, "lowered", None) is not None:
            return (yield)
        self._before_compiling()
        call = KeptCall(GraphState(gm).inputs, is_backward=is_given_gradients(gm))
        lowered = Lowered(call, bool(named.get("is_backward")))
        if named.get("cpp_wrapper"):
            lowered.why_not = "cpp_wrapper has no buffers that Python sees"
        box = named.get("cudagraphs")
        if box is not None and box.value and is_on_gpu():
            # What it returns lies in memory that the next call overwrites, and that goes
            # with the graph. Torch asks the box for each graph of the compilation.
            box.value, kept.is_without_cuda_graph = False, True
        with logging_faults(_FAILED):
            lowered.settings = settings_of(compiled_calls.written_settings())
        self._here.lowered = lowered
        try:
            result = yield
        finally:
            self._here.lowered = None
        with logging_faults(_FAILED):
            kept.calls.append(call)
            theirs = getattr(result, "current_callable", None)
            if theirs is not None:
                lowered.run = theirs
                kept.lowered.append(lowered)
                result.current_callable = self._seen(theirs, kept, call, is_boxed=True)
            elif inspect.isfunction(result):
                # Where nothing is computed the graph itself is called.
                seen: Any = self._seen(result, kept, call, is_boxed=True)
                seen._boxed_call = True
                return seen
        return result

    def _interpreted(
        self, fx_g: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        kept = self._latest.get(compile_id())
        call = KeptCall(GraphState(fx_g).inputs, is_backward=is_given_gradients(fx_g))
        result = yield
        if kept is None or not callable(result) or kept.is_in_cuda_graph:
            return result
        kept.calls.append(call)
        seen: Any = self._seen(result, kept, call, is_boxed=True)
        seen._boxed_call = True
        return seen

    def _behind(self, compiler: Any) -> Any:
        """The same compiler of graphs behind AOTAutograd, of whose code the calls are
        seen, unless torch's own compile it.
        """
        if not inspect.isroutine(compiler) and _is_of_torch(compiler):
            return compiler  # it has parts that torch asks for

        def compile_seen(gm: Any, *inputs: Any, **named: Any) -> Any:
            kept = self._latest.get(compile_id())
            if kept is None or kept.is_in_cuda_graph:
                return compiler(gm, *inputs, **named)
            before, count = _state_of(gm), len(kept.calls)
            try:
                result = compiler(gm, *inputs, **named)
            except Exception as error:
                # Of a backward torch may pass it over, and compile that later.
                if not is_torchs(compiler) and not is_given_gradients(gm):
                    of = f"{_stage_of(kept)}, forward", name_of_compiler(compiler)
                    _note_raised(kept, Kind.BACKEND, of, error, given=before)
                raise
            with logging_faults(compiled_calls.BEHIND):
                if len(kept.calls) == count and before is not None and callable(result):
                    return self._seen_behind(kept, compiler, gm, before, result)
            return result

        return functools.update_wrapper(compile_seen, compiler, updated=())

    def _seen_behind(
        self,
        kept: KeptCompilation,
        compiler: Any,
        gm: Any,
        before: GraphState,
        run: Any,
    ) -> Any:
        after = as_it_is(gm)
        is_backward = is_given_gradients(gm)
        call = KeptCall(before.inputs, is_backward=is_backward)
        kept.calls.append(call)
        name = name_of_compiler(compiler)
        kept.behind.append(Behind(name, call, is_backward, before, after))
        is_boxed = getattr(run, "_boxed_call", False)
        seen: Any = self._seen(
            run, kept, call, is_boxed=is_boxed, is_whole=False, is_returned=True
        )
        seen._boxed_call = is_boxed
        return seen

    def _lowered(self, lowering: Any, /, *_: Any) -> Generator[None, Any, Any]:
        lowered: Lowered | None = getattr(self._here, "lowered", None)
        if lowered is not None and lowered.state is None:
            with logging_faults(compiled_calls.KERNELS):
                lowered.state = GraphState(lowering.module)
                lowered.state.keep_what_nodes_say()
                self._here.lowering = lowering
        with self._noting_crash(lowered, lowering):
            return (yield)

    def _written(self, lowering: Any, /) -> Generator[None, Any, Any]:
        lowered: Lowered | None = getattr(self._here, "lowered", None)
        with self._noting_crash(lowered, lowering):
            module = yield
        is_it = getattr(self._here, "lowering", None) is lowering
        if lowered is not None and is_it and not lowered.path:
            with logging_faults(compiled_calls.KERNELS):
                lowered.buffers = compiled_calls.buffers_of(lowering)
                # Its code may run as that of a listing.
                call: Any = inspect.unwrap(module.call)
                call = getattr(call, "__func__", call)
                lowered.path = call.__code__.co_filename
        return module

    @contextlib.contextmanager
    def _noting_crash(self, lowered: Lowered | None, lowering: Any) -> Generator[None]:
        """Note what inductor raises while it makes code of a graph."""
        try:
            yield
        except GeneratorExit as end:
            kept = self._latest.get(compile_id())
            if kept is not None and lowered is not None:
                half = "backward" if lowered.is_backward else "forward"
                stage = f"{_stage_of(kept)}, {half}, post-grad"
                node = lowered_node(end.__context__, lowering)
                _note_raised(
                    *(kept, Kind.KERNEL, (stage, ""), end.__context__),
                    state=lowered.state,
                    node=node,
                    settings=lowered.settings,
                )
            raise

    def _decomposed(
        self, proxy_mode: Any, op: Any, args: Any, kwargs: Any, /
    ) -> Generator[None, Any, Any]:
        kept = self._latest.get(compile_id())
        if kept is None or kept.traced is not None or len(kept.decomposed) >= _MOST:
            return (yield)
        node = compiled_calls.made_nodes(proxy_mode.tracer)
        given: Any = None
        with logging_faults(compiled_calls.DECOMPOSED):
            given = _nodes(args, node), _nodes(kwargs, node)
        result = yield
        if result is not NotImplemented and given is not None:
            kept.decomposed.append(
                Decomposed(op, given[0], given[1], _nodes(result, node))
            )
        return result

    def _seen(
        self,
        theirs: Callable[..., Any],
        kept: KeptCompilation,
        call: KeptCall,
        *,
        is_boxed: bool,
        is_whole: bool = False,
        is_returned: bool = False,
    ) -> Callable[..., Any]:
        """The same function, of whose first call the inputs are kept, and of some later
        ones; of the captured graph, `is_whole`, and where that is asked for also what it
        returns.

        Where rules are asked for, it is the first call that breaks one.
        """

        def seen(*args: Any) -> Any:
            call.count += 1
            given = args[0] if is_boxed else args
            now, copies = call, self.copies
            with logging_faults(_FAILED):
                now, copies = self._taking(kept, call, given, is_whole=is_whole)
            if now.happened:
                return theirs(*args)
            now.happened = True
            # Compiled code may empty the list.
            held = [*given] if is_whole or is_returned else []
            with logging_faults(_FAILED):
                if is_whole or is_returned:
                    now.randomness = randomness()
                self._take_inputs(now, copies, given, is_whole=is_whole)
                if is_whole and self._asking is not None and not now.why_not:
                    here, left = inspect.currentframe(), self.copies.left
                    ask = self._asking.ask
                    now.python = ask(kept.captured, now.values, given, here, left)
            try:
                result = theirs(*args)
            except Exception as error:
                now.raised = line_of(error)
                raise
            if self._rules and (is_whole or call.is_backward):
                with logging_faults(_FAILED):
                    call.found = self._broken(leaves(result), is_backward=not is_whole)
            if (is_whole or is_returned) and not now.why_not:
                with logging_faults(_FAILED):
                    if is_whole:
                        watch_backward(now, leaves(result), held)
                    outputs = copies.take(leaves(result))
                    if not isinstance(outputs, str):
                        now.outputs = tuple(outputs)
                        now.left = left_behind(now, held, copies)
            return result

        return functools.update_wrapper(seen, theirs, updated=())

    def _taking(
        self,
        kept: KeptCompilation,
        call: KeptCall,
        given: Sequence[Any],
        *,
        is_whole: bool,
    ) -> tuple[KeptCall, Copies]:
        """What keeps this call, unless that happened already, and for how much memory."""
        if self._rules:
            if call.happened and is_whole and kept.found is None:
                # Nothing was in what it returned, nor in its gradients: begin again.
                for one in (kept.call, *kept.calls):
                    one.forget(self.copies)
            return call, self.copies
        if is_whole:
            gone = kept.later.ask(call.count, given, self.copies)
            for one in (call, *kept.calls):
                before = one.again.pop(gone, None)
                if before is not None and before.python is not None:
                    before.python.forget()
        if call.happened and kept.later.wanted == call.count:
            now = call.again[call.count] = KeptCall(call.names)
            return now, kept.later.copies[call.count]
        return call, self.copies

    def _take_inputs(
        self, call: KeptCall, copies: Copies, given: Sequence[Any], *, is_whole: bool
    ) -> None:
        """Keep copies of what a call is given, or why there are none."""
        taken = copies.take([*given])
        if is_whole and is_autocast():
            call.why_not = "it is called under autocast"
        elif isinstance(taken, str):
            call.why_not = taken
        elif len(taken) != len(call.names):
            call.why_not = "it is called with other inputs than its graph has"
        else:
            inputs = dict(zip(call.names, taken, strict=True))
            call.values = Values.of_held(inputs, copies.room)
            call.shares_memory = overlaps(given)

    def _broken(self, values: list[Any], *, is_backward: bool) -> Rule | None:
        """The first of the rules that one of these values breaks."""
        for rule in self._rules:
            if rule is Rule.GRAD_NAN and not is_backward:
                continue
            if any(not is_finite(one) and not_finite(rule, one) for one in values):
                return rule
        return None


def _is_of_torch(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch"


def _state_of(gm: Any) -> GraphState | None:
    """A graph as it is; None where it is none."""
    return as_it_is(gm) if hasattr(gm, "graph") else None


def _none_of(_compilation: str) -> tuple[RevisionName, ...]:
    """Where no run is recorded."""
    return ()


def _note_raised(
    kept: KeptCompilation,
    kind: Kind,
    of: tuple[str, str],
    error: BaseException | None,
    **more: Any,
) -> None:
    """Note what a step raised, if nothing inside of it did, and if it is no way in which
    Dynamo begins anew.
    """
    if error is None or kept.crash is not None:
        return
    inner: BaseException = getattr(error, "inner_exception", error)
    if not type(inner).__module__.endswith("_dynamo.exc"):
        made = Crash(kind, *of, 1, line_of(inner), raisers=raisers_in(inner))
        kept.crash = replace(made, **more)


def _stage(gm: Any) -> str:
    stage = getattr(capture_of(gm), "stage", "") or "graph"
    return stage.removesuffix(", pre-grad")


def _stage_of(kept: KeptCompilation) -> str:
    return kept.stage or kept.traced_stage.removesuffix(", traced") or "graph"


def _is_of(compiled: Any, gm: Any) -> bool:
    """Whether what a backend returned runs the graph that it was given."""
    while (inner := getattr(compiled, "__wrapped__", None)) is not None:
        compiled = inner
    return compiled is gm or getattr(compiled, "__self__", None) is gm


def _nodes(values: Any, node: Callable[[Any], Any]) -> Any:
    """Values with the nodes of traced tensors and sizes in their place."""

    def traced(value: Any) -> Any:
        found = node(value) if hasattr(value, "shape") else None
        return value if found is None else found

    return fx.node.map_aggregate(values, traced)
