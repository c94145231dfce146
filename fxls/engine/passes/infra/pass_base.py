"""A pass: a callable that takes a graph module and says whether it changed it."""

from __future__ import annotations

import abc
from typing import NamedTuple

import torch

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass made of a module, and whether that differs from what it was given."""

    graph_module: torch.nn.Module
    modified: bool


class PassBase(abc.ABC):
    """A pass as a class: `call` does the work, between two checks.

    An instance is called like a function, and is what a `PassManager` takes.
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """Check with `requires`, transform with `call`, check with `ensures`."""
        refuse_foreign(graph_module)
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Transform the module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 - may stay
        """Raise when the pass does not apply to the module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 - may stay
        """Raise when the pass left the module that it was given in a wrong state."""
