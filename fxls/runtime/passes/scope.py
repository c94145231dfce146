"""Where passes run one after the other, and what is known of their graphs meanwhile."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from fxls.engine.graph_module import GraphModule
from fxls.record import Pass
from fxls.runtime.passes.graph_state import inputs_of
from fxls.runtime.passes.revisions import Point
from fxls.runtime.patterns.written_patterns import Matches
from fxls.runtime.producers.capture import Capture, capture_of
from fxls.runtime.producers.steps import Step

__all__ = ["Running", "Scope", "current"]


@dataclass(slots=True, eq=False)
class Running:
    """A pass that runs."""

    name: str
    module: Any
    path: str
    before: Point
    began: float
    observer: object = None
    matches: Matches = field(default_factory=Matches)
    """The patterns that it has had matches of so far."""


@dataclass(slots=True, eq=False)
class Scope:
    """Where passes run one after the other, on one graph and its parts."""

    step: Step | None
    modules: list[Any]
    """The module, and the part of it that is the turn of."""
    points: dict[str, Point] = field(default_factory=dict[str, Point])
    """The graph of each part as it was last seen."""
    counts: Counter[str] = field(default_factory=Counter[str])
    compilation: str | None = None
    """torch's name of the one whose backend runs passes, where that is no step."""
    running: list[Running] = field(default_factory=list[Running])
    is_asked_for: bool = False
    """Whether a block of the program wants to see what changed the graph."""
    seen: list[Pass] = field(default_factory=list[Pass])
    inner: Scope | None = None
    """The last one that began and ended in this one, for a step of its own."""
    paths: dict[int, tuple[Any, str]] = field(
        default_factory=dict[int, "tuple[Any, str]"]
    )
    """By identity of a module, which lives as long: where it is."""

    def path(self, module: Any) -> str:
        """Which part of the graph a module is; the whole has an empty path."""
        if id(module) not in self.paths:
            self.paths[id(module)] = module, self._found(module)
        return self.paths[id(module)][1]

    def _found(self, module: Any) -> str:
        for path, part in self.modules[0].named_modules():
            if part is module:
                return path
        # A pass may return another module, which takes the place of the one it was given.
        turn = self.modules[-1]
        path = "" if turn is self.modules[0] else self.path(turn)
        if path in self.points and self.points[path].state.inputs == inputs_of(module):
            self.modules[self.modules.index(turn)] = module
            return path
        return f"another graph, {len(self.paths)}"

    def capture(self, module: Any, path: str) -> Capture | None:
        """What is said of the graph of a module."""
        if self.step is None or path.startswith("another graph"):
            return _ENGINE if isinstance(module, GraphModule) else capture_of(module)
        whole = self.step.capture
        if not path:
            return whole
        stage = f"{whole.stage}, {path}" if whole.stage else path
        return replace(whole, stage=stage, parents=())


current: ContextVar[Scope | None] = ContextVar("fxls_passes", default=None)

_ENGINE = Capture("engine")
