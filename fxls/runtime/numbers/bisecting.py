"""Asks a predicate of the user of each graph that was kept, in the compiler's order."""

from __future__ import annotations

import inspect
import pkgutil
import runpy
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.inputs import inputs_of
from fxls.runtime.numbers.kept import KeptCompilation, Lowered, copy_of
from fxls.runtime.numbers.of_kernels import stage_of
from fxls.runtime.numbers.remade import remade
from fxls.runtime.numbers.replaying import alone
from fxls.runtime.passes.graph_state import GraphState, is_same_graph
from fxls.verdicts.bisection import CODE, Bisection, FirstBad, Untested

__all__ = ["bisected", "loaded"]

SCHEMA = 1

Predicate = Callable[..., Any]


def loaded(name: str) -> Predicate | str:
    """The function that ``module:function`` or ``FILE.py:function`` names; a sentence
    where there is none.
    """
    module, _, function = name.rpartition(":")

    def load() -> Any:
        if module.endswith(".py"):
            return runpy.run_path(module)[function]
        return pkgutil.resolve_name(name)

    found = attempt(load)
    if isinstance(found, Raised):
        return f"{name} cannot be loaded: {found.error!r}"[:300]
    return found if callable(found) else f"{name} is no function"


def bisected(
    kept: Iterable[KeptCompilation], predicate: Predicate, raised: str | None = None
) -> Bisection:
    """The first bad graph of each compilation, by what the predicate says of it."""
    asking: list[_Asking] = []
    for one in kept:
        if one.call.happened:
            with one.defaults.in_force():
                asking.append(_Asking(one, predicate).ask())
    found = [one.found for one in asking if one.found is not None]
    return Bisection(
        SCHEMA,
        tuple(found),
        tuple(why for one in asking for why in one.untested),
        len(asking),
        sum(one.tested for one in asking),
        "",
        raised,
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """A graph before somebody changed it, and behind."""

    name: str
    ordinal: int
    stage: str
    before: GraphState | None
    """None for a graph that nobody made of another one that is kept."""
    after: GraphState
    code: Lowered | None = None
    """What inductor made of the graph, where the step is to write code."""


class _Asking:
    """Asks of the graphs of one compilation."""

    def __init__(self, kept: KeptCompilation, predicate: Predicate) -> None:
        self._kept = kept
        self._predicate = predicate
        self._known: dict[GraphState | Lowered, str | None] = {}
        self.found: FirstBad | None = None
        self.untested: list[Untested] = []
        self.tested = 0

    def ask(self) -> _Asking:
        """Ask until one is bad that is good before."""
        last: GraphState | None = None
        for step in self._steps():
            before = step.before
            if before is not None and not (last and is_same_graph(before, last)):
                bad = self._why_bad(step, before)
                if bad is not None:
                    # Whoever made it so is no pass that anybody saw.
                    self._find(step, f"what is before {step.name}", bad)
                    return self
            last = step.after
            bad = self._why_bad(step, step.after, step.code)
            if bad is not None:
                self._find(step, step.name, bad)
                return self
        return self

    def _find(self, step: _Step, name: str, bad: str) -> None:
        self.found = FirstBad(self._kept.name, step.stage, name, step.ordinal, bad)

    def _steps(self) -> Iterator[_Step]:
        kept = self._kept
        yield _Step("", 1, kept.stage, None, kept.captured)
        if kept.given_on is not None:
            yield _Step(kept.backend, 1, kept.stage, kept.captured, kept.given_on)
        is_early = [one.step.capture.stage.endswith("pre-grad") for one in kept.changes]
        yield from self._changes(is_early, wanted=True)
        if kept.traced is not None:
            yield _Step("AOTAutograd", 1, kept.traced_stage, None, kept.traced)
        yield from self._changes(is_early, wanted=False)
        for lowered in kept.lowered:
            state, stage = lowered.state, stage_of(kept, lowered)
            if state is not None and lowered.call.happened:
                yield _Step(CODE, 1, stage, state, state, lowered)

    def _changes(self, is_early: Sequence[bool], *, wanted: bool) -> Iterator[_Step]:
        for one, early in zip(self._kept.changes, is_early, strict=True):
            if early is wanted and not one.told.subgraph:
                stage, told = one.step.capture.stage, one.told
                yield _Step(told.name, told.ordinal, stage, one.before, one.after)

    def _why_bad(
        self, step: _Step, state: GraphState, code: Lowered | None = None
    ) -> str | None:
        """Why a graph, or the code of it, is bad; None where it is good, or nobody can
        say.
        """
        if (code or state) in self._known:
            return self._known[code or state]
        answer = attempt(lambda: self._answer(state, code))
        bad: str | None = None
        if isinstance(answer, Raised):
            bad = self._why_raised(step, state, answer.error, code)
            if bad is None:
                why = str(answer.error)
                if not isinstance(answer.error, NotRun):
                    why = repr(answer.error)[:300] + self._at(answer.error)
                self.untested.append(
                    Untested(self._kept.name, step.stage, step.name, why)
                )
        elif answer is False:
            bad = "it returned False"
        self.tested += not isinstance(answer, Raised) or bad is not None
        self._known[code or state] = bad
        return bad

    def _why_raised(
        self,
        step: _Step,
        state: GraphState,
        error: Exception,
        code: Lowered | None,
    ) -> str | None:
        """Why what the predicate raised is the graph's fault; None where it is not."""
        if isinstance(error, NotRun):
            return None
        said = f"{type(error).__name__}: {error}"[:500].removesuffix(": ")
        if isinstance(error, AssertionError):
            return said if str(error) else said + self._at(error)
        if _raises_alike(error, lambda: remade(state).graph.lint()):
            return f"the graph is not legal: {said}"
        # What no input of its own can do to the graph before is its own fault.
        if step.before is None or state is step.before is not step.after:
            return None
        if _raises_alike(error, lambda: self._call(state, code)):
            before = attempt(lambda: self._call(step.before or state, None))
            return None if isinstance(before, Raised) else f"it raises {said}"
        return None

    def _call(self, state: GraphState, code: Lowered | None) -> Any:
        module, inputs = self._given(state, code)
        with alone():
            return module(*inputs)

    def _answer(self, state: GraphState, code: Lowered | None) -> object:
        module, inputs = self._given(state, code)
        given = [module, inputs][: _count_asked(self._predicate)]
        with alone():
            return self._predicate(*given)

    def _given(
        self, state: GraphState, code: Lowered | None
    ) -> tuple[Any, Sequence[Any]]:
        """What is asked about: a module, and copies of its inputs."""
        graph = ReplayedGraph(state)
        given = code.call.values if code else inputs_of(self._kept, graph)
        missing = [name for name in graph.inputs if name not in given]
        if missing:
            raise NotRun(f"nobody saw what is given for {', '.join(missing[:4])}")
        module = remade(state)
        if code is not None:
            if code.run is None:
                raise NotRun(code.why_not or "inductor took its code from a cache")
            module.forward = _unboxed(code.run)
        return module, [_own(given[name]) for name in graph.inputs]

    def _at(self, error: Exception) -> str:
        """Where the function of the user was when it raised, and what stands there."""
        path, found = inspect.unwrap(self._predicate).__code__.co_filename, ""
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == path:
                found = f", at {Path(path).name}:{frame.lineno}: {frame.line}"
        return found


def _unboxed(run: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    """Compiled code, to be called as its graph is."""

    def forward(*args: Any) -> Any:
        return run([*args])

    return forward


def _count_asked(predicate: Predicate) -> int:
    """Of how many arguments a function of the user makes use: the graph, or its inputs
    as well.
    """
    parameters = [*inspect.signature(predicate).parameters.values()]
    places = [
        one
        for one in parameters
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    has_all = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    return 1 if len(places) == 1 and not has_all else 2


def _raises_alike(error: Exception, call: Callable[[], object]) -> bool:
    """Whether a call raises the same error."""
    other = attempt(call)
    return (
        isinstance(other, Raised)
        and type(other.error) is type(error)
        and str(other.error) == str(error)
    )


def _own(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value
