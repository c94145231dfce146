"""Who wants the graphs themselves of the passes that change one, and not their listings."""

from __future__ import annotations

from typing import Protocol

from fxls.record import Pass
from fxls.runtime.passes.graph_state import GraphState
from fxls.runtime.producers.steps import Step

__all__ = ["PassListener"]


class PassListener(Protocol):
    """Told of steps and of passes while they run; what it raises is a fault of fxls."""

    def began(self, step: Step, state: GraphState, /) -> None:
        """A step began with this graph."""
        ...

    def passed(
        self, step: Step, told: Pass, before: GraphState, after: GraphState, /
    ) -> None:
        """A pass of a step changed a graph."""
        ...

    def raised(
        self, step: Step, told: Pass, before: GraphState, error: BaseException, /
    ) -> None:
        """A pass of a step raised, that was given this graph."""
        ...
