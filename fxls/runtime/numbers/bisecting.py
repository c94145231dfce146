"""Asks a predicate of the user of each graph that was kept, in the compiler's order."""

from __future__ import annotations

import pkgutil
import runpy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from fxls.attempt import Raised, attempt
from fxls.runtime.numbers.graphs import NotRun, ReplayedGraph
from fxls.runtime.numbers.inputs import inputs_of
from fxls.runtime.numbers.kept import KeptCompilation, copy_of
from fxls.runtime.numbers.replaying import alone
from fxls.runtime.passes.graph_state import GraphState, is_same
from fxls.runtime.torch_private import fx
from fxls.verdicts.bisection import Bisection, FirstBad, Untested

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
    asking = [_Asking(one, predicate).ask() for one in kept if one.call.happened]
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


class _Asking:
    """Asks of the graphs of one compilation."""

    def __init__(self, kept: KeptCompilation, predicate: Predicate) -> None:
        self._kept = kept
        self._predicate = predicate
        self._known: dict[GraphState, str | None] = {}
        self.found: FirstBad | None = None
        self.untested: list[Untested] = []
        self.tested = 0

    def ask(self) -> _Asking:
        """Ask until one is bad that is good before."""
        last: GraphState | None = None
        for step in self._steps():
            if step.before is not None and not _is_alike(step.before, last):
                bad = self._why_bad(step, step.before)
                if bad is not None:
                    # Whoever made it so is no pass that anybody saw.
                    self._find(step, f"what is before {step.name}", bad)
                    return self
            last = step.after
            bad = self._why_bad(step, step.after)
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
        for wanted in (True, False):
            if not wanted and kept.traced is not None:
                yield _Step("AOTAutograd", 1, kept.traced_stage, None, kept.traced)
            for one, early in zip(kept.changes, is_early, strict=True):
                if early is wanted and not one.told.subgraph:
                    stage = one.step.capture.stage
                    told = one.told
                    yield _Step(told.name, told.ordinal, stage, one.before, one.after)

    def _why_bad(self, step: _Step, state: GraphState) -> str | None:
        """Why a graph is bad; None where it is good, or nobody can say."""
        if state in self._known:
            return self._known[state]
        answer = attempt(lambda: self._answer(state))
        bad: str | None = None
        if isinstance(answer, Raised):
            error = answer.error
            if isinstance(error, AssertionError):
                bad = f"AssertionError: {error}"[:500].removesuffix(": ")
            else:
                why = str(error) if isinstance(error, NotRun) else repr(error)[:300]
                self.untested.append(
                    Untested(self._kept.name, step.stage, step.name, why)
                )
        elif answer is False:
            bad = "it returned False"
        self.tested += not isinstance(answer, Raised) or bad is not None
        self._known[state] = bad
        return bad

    def _answer(self, state: GraphState) -> object:
        graph = ReplayedGraph(state)
        given = inputs_of(self._kept, graph)
        missing = [name for name in graph.inputs if name not in given]
        if missing:
            raise NotRun(f"nobody saw what is given for {', '.join(missing[:4])}")
        module = _module(state)
        inputs = [_own(given[name]) for name in graph.inputs]
        with alone():
            return self._predicate(module, inputs)


def _is_alike(one: GraphState, other: GraphState | None) -> bool:
    """Whether a graph is the one that was asked of last."""
    return (
        other is not None
        and len(one.rows) == len(other.rows)
        and all(is_same(*pair) for pair in zip(one.rows, other.rows, strict=True))
    )


def _module(state: GraphState) -> Any:
    """A graph module of its own, of a graph as it was at one moment."""
    made: Any = fx.Graph()
    nodes: dict[Any, Any] = {}
    held: dict[str, Any] = {}
    for row in state.rows:
        if row.opcode in ("get_attr", "call_module"):
            found = row.held()
            if found is None:
                raise NotRun(f"the graph holds no {row.target} any more")
            held[str(row.target)] = found
        args = fx.node.map_arg(row.args, nodes.__getitem__)
        kwargs = fx.node.map_arg(row.kwargs, nodes.__getitem__)
        call = (row.opcode, row.target, args, kwargs, row.name, row.type)
        node = made.create_node(*call)
        node.meta = dict(row.node.meta)
        nodes[row.node] = node
    return fx.GraphModule(held, made)


def _own(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value
