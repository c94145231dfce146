"""What AOTAutograd does to a graph: it decomposes, cleans up, and divides.

It traces a captured graph, by which operators are decomposed, and clears what it traced
of what has no effect. Where gradients are wanted, it divides the whole into a forward
and a backward graph. None of these stands in an observer of torch's.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from fxls.record import MatchedPattern, Pass, RevisionName, names
from fxls.runtime.faults import logging_faults
from fxls.runtime.hooks import Hook
from fxls.runtime.passes.observed_passes import ObservedPasses
from fxls.runtime.passes.partition import PARTITION, partition, reasons_in
from fxls.runtime.passes.revisions import listed
from fxls.runtime.passes.scope import Scope
from fxls.runtime.patterns.written_patterns import written_in
from fxls.runtime.producers import compiler_steps
from fxls.runtime.producers.capture import in_backend, note_capture
from fxls.runtime.producers.compiler_steps import (
    DIVIDED,
    JOINT_PASS,
    TRACED,
    is_given_gradients,
    with_joint_pass,
)
from fxls.runtime.producers.steps import Step

__all__ = ["CLEAN_UP", "DECOMPOSITIONS", "AotSteps"]

DECOMPOSITIONS = "decompositions"
CLEAN_UP = "clean-up"

_MOST = 64
"""So many operators are named that were decomposed."""

_Stage = tuple[str, ...]


@dataclass(slots=True, eq=False)
class _Trace:
    """A trace of AOTAutograd's that is being made, or was made."""

    step: Step
    passes: contextlib.ExitStack
    """Around what is done to the graph once it is traced."""
    depth: int = 0
    """How many traces are being made: one may need others, which are of no interest."""
    table: Any = None
    """By operator, what decomposes it."""
    decomposing: int = 0
    made: list[tuple[Any, Any]] = field(default_factory=list["tuple[Any, Any]"])
    """Each node that an operator was decomposed into, and the operator."""
    module: Any = None
    scope: Scope | None = None


@dataclass(slots=True, eq=False)
class _Dividing:
    """A partition that is being made."""

    cuts: int = 0
    reasons: dict[str, str] = field(default_factory=dict[str, str])


class AotSteps:
    """What sees these steps, by its hooks."""

    def __init__(
        self,
        passes: ObservedPasses,
        step: Callable[[_Stage], Step | None],
        listed: Callable[[_Stage], RevisionName | None],
    ) -> None:
        """`step` gives that of a stage of the compilation that runs, if one does whose
        graph is known; `listed` the listing that a stage has, or that it began with.
        """
        self._passes = passes
        self._step = step
        self._listed = listed
        self._here = threading.local()
        """The trace of this thread that will be divided."""

    def hooks(self) -> tuple[Hook, ...]:
        """Where AOTAutograd traces and divides graphs."""
        return compiler_steps.of_aot_autograd(
            traced=self._traced,
            created=self._created,
            decomposed=self._decomposed,
            divided=self._divided,
            cut=self._cut,
        )

    # -- the trace ---------------------------------------------------------------

    def _traced(self, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        step = None if _trace.get() is not None else self._step(("traced",))
        self._here.left = None
        if step is None:
            return (yield)
        with contextlib.ExitStack() as passes:
            trace = _Trace(step, passes)
            token = _trace.set(trace)
            try:
                result = yield
            finally:
                _trace.reset(token)
        self._undivided(trace)
        # What needs no gradients is not divided, and is not to be kept.
        self._here.left = trace if _is_joint(trace.module) else None
        return result

    def _undivided(self, trace: _Trace) -> None:
        """Let a whole graph that a backend of the program's is given be its forward."""
        step = self._step(("forward",)) if in_backend() else None
        if (
            step is not None
            and trace.module is not None
            and not _is_joint(trace.module)
        ):
            note_capture(trace.module, step.capture)
            self._passes.follow(trace.module, step.compilation)

    def _created(self, *_: Any, **named: Any) -> Generator[None, Any, Any]:
        trace = _trace.get()
        if trace is None or trace.module is not None:
            return (yield)
        if not trace.depth:
            trace.table = getattr(named.get("aot_config"), "decompositions", None)
        trace.depth += 1
        try:
            module = yield
        finally:
            trace.depth -= 1
        if not trace.depth:
            with logging_faults(TRACED):
                self._begin(trace, module)
        return module

    def _begin(self, trace: _Trace, module: Any) -> None:
        """What is done to the graph of a trace begins."""
        trace.module = module
        in_step = self._passes.in_step(module, trace.step)
        trace.passes.enter_context(in_step)
        trace.scope = scope = self._passes.scope()
        there = {*module.graph.nodes}
        made = [(node, operator) for node, operator in trace.made if node in there]
        operators: dict[Any, int] = {}
        for node, operator in made:
            self._passes.note_made(node, f"the decomposition of {operator}", ())
            operators[operator] = operators.get(operator, 0) + 1
        trace.made.clear()
        table: Any = trace.table or {}
        found = tuple(
            MatchedPattern(str(one), count, written_in(table.get(one)))
            for one, count in islice(operators.items(), _MOST)
        )
        header = (
            (f"It is {trace.step.capture.stage}, as AOTAutograd traced it.",),
            *(((f"Decomposed {listed([p.name for p in found])}.",),) if found else ()),
        )
        told = Pass(
            DECOMPOSITIONS,
            1,
            trace.step.compilation,
            producer=trace.step.capture.producer,
            stage=trace.step.capture.stage,
            changed=bool(made),
            before=self._listed(("traced",)) if made else None,
            after=scope.points[""].revision(trace.step.capture, header)
            if made
            else None,
            created=names([node.name for node, _ in made]),
            patterns=found,
        )
        self._passes.note(told)
        trace.passes.enter_context(self._passes.in_pass(module, CLEAN_UP))

    def _decomposed(
        self, proxy_mode: Any, op: Any, /, *_: Any, **__: Any
    ) -> Generator[None, Any, Any]:
        trace = _trace.get()
        if trace is None or trace.decomposing or trace.module is not None:
            return (yield)
        nodes = proxy_mode.tracer.graph.nodes
        count = len(nodes)
        trace.decomposing += 1
        try:
            result = yield
        finally:
            trace.decomposing -= 1
        if result is not NotImplemented:
            made = [*islice(reversed(nodes), max(len(nodes) - count, 0))]
            trace.made += [(node, op) for node in reversed(made)]
        return result

    # -- the partition -----------------------------------------------------------

    def _divided(self, joint: Any, /, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        trace: _Trace | None = getattr(self._here, "left", None)
        self._here.left = None
        step = self._step(("traced",))
        scope = None if trace is None else trace.scope
        if step is None or trace is None or scope is None or trace.module is not joint:
            return (yield)
        dividing = _Dividing()
        token = _dividing.set(dividing)
        try:
            named = functools.partial(self._as_pass, scope)
            with self._passes.going_on(scope, joint), with_joint_pass(named):
                result = yield
        finally:
            _dividing.reset(token)
        with logging_faults(DIVIDED):
            self._halves(scope, result[0], result[1], dividing)
        return result

    def _as_pass(self, scope: Scope, theirs: Callable[..., Any]) -> Callable[..., Any]:
        """A pass of the program's on the whole graph, which may return another module."""

        @functools.wraps(theirs)
        def seen(module: Any, *args: Any) -> Any:
            with self._passes.in_pass(module, JOINT_PASS):
                result = theirs(module, *args)
            if result is not module:
                with logging_faults(DIVIDED):
                    scope.path(result)  # from here on it is the module of the scope
                    self._passes.changed_by(scope, result, JOINT_PASS)
            return result

        return seen

    def _halves(
        self, scope: Scope, forward: Any, backward: Any, dividing: _Dividing
    ) -> None:
        last = scope.inner or scope
        joint = last.modules[0]
        self._passes.changed_by(last, joint, PARTITION)
        reasons = dividing.reasons if dividing.cuts == 1 else {}
        how = partition(joint, forward, backward, reasons)
        before = last.points[""]
        if last is not scope and (listed := self._listed(("joint",))) is not None:
            before.is_listed_as(listed)
        for module, stage in ((forward, "forward"), (backward, "backward")):
            step = self._step((stage,))
            if step is not None:
                self._passes.made_half(last, before, module, step, how)

    def _cut(self, *_: Any, **__: Any) -> Generator[None, Any, Any]:
        dividing = _dividing.get()
        if dividing is not None:
            cut = compiler_steps.cut_of_caller()
            if cut is not None:
                dividing.cuts += 1
                dividing.reasons.update(reasons_in(cut))
        return (yield)


def _is_joint(module: Any) -> bool:
    return module is not None and is_given_gradients(module)


_trace: ContextVar[_Trace | None] = ContextVar("fxls_aot_trace", default=None)
_dividing: ContextVar[_Dividing | None] = ContextVar("fxls_dividing", default=None)
