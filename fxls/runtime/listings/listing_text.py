"""A graph module as a listing: its text, its marks, and what is known of its nodes."""

from __future__ import annotations

from typing import Any

import torch

from fxls.engine.code.codegen import MarkedCode, marked_code
from fxls.engine.graph import Graph
from fxls.engine.node import Node
from fxls.engine.origins.module_scopes import ScopeSnapshot
from fxls.listing import Listing, Parent, Remark, ToClass
from fxls.runtime.listings.facts import FactsOfNodes
from fxls.runtime.listings.head import Leading, Words, head_of
from fxls.runtime.listings.identity import identity_of
from fxls.runtime.listings.layout import Layout
from fxls.runtime.listings.module_names import importable_name
from fxls.runtime.listings.value_facts import value_of

__all__ = ["ListingText", "listing_of"]


def listing_of(
    module: torch.nn.Module, graph: Graph | None = None, *, entry: str | None = None
) -> Listing:
    """The listing of a graph module, or of another module and a graph of its."""
    if graph is None:
        graph = _graph_of(module)
    return ListingText(module, graph).listing(entry)


class ListingText:
    """The text of a listing, and the code that it was made from.

    - The rest of the listing can be made for as long as the graph is as it was.
    """

    parents: tuple[Parent, ...] = ()
    computes_gradients = False
    remarks: tuple[Remark, ...] = ()
    parameters: int | None = None
    """What the producer says of how many numbers the parameters hold."""

    def __init__(
        self,
        module: torch.nn.Module,
        graph: Graph,
        header: tuple[Words, ...] = (),
        *,
        keeps_values: bool = False,
    ) -> None:
        """With `keeps_values` no value is let go before the forward returns.

        `header` is what else the head says.
        """
        self.identity = identity_of(module, graph)
        self.code: MarkedCode = marked_code(graph, "self", importable_name("__main__"))
        self._module = module
        self._graph = graph
        name = Leading(self.identity.class_name, ToClass())
        self.layout = Layout(
            self.code.code.src,
            head_of([("The code of ", name, _WRITTEN), *header]),
            self.code.code.globals,
            self._paths,
            keeps_values=keeps_values,
        )

    @property
    def text(self) -> str:
        """The text of the listing."""
        return self.layout.text

    def has_values(self) -> bool:
        """Whether any node of the graph knows its value."""
        return any(value_of(node.noted_all()) for node in self._graph.nodes)

    def listing(self, entry: str | None = None) -> Listing:
        """The whole listing."""
        layout = self.layout
        facts = FactsOfNodes(self._module, self._graph)
        nodes = tuple(
            [
                facts.of(node, layout.line(line))
                for node, line in zip(facts.nodes, self.code.lines, strict=True)
            ]
        )
        return Listing(
            identity=self.identity,
            text=self.text,
            definition=layout.line(self.code.definition),
            marks=layout.marks(self.code),
            nodes=nodes,
            sources=tuple(facts.tables.sources),
            frames=tuple(facts.tables.frames),
            scopes=tuple(facts.tables.scopes),
            entry=entry,
            parameters=self._count_parameters(facts),
            targets=tuple(facts.targets.rows),
            parents=self.parents,
            links=layout.links,
            computes_gradients=self.computes_gradients,
            remarks=self.remarks,
        )

    def _count_parameters(self, facts: FactsOfNodes) -> int | None:
        """How many numbers the parameters hold; None where they may be inputs.

        What compilers capture has the parameters of the model as placeholders, also in
        the hands of another tracer; it calls operators and no functions.
        """
        count = sum(p.numel() for p in self._module.parameters())
        if self.parameters is not None:
            return self.parameters
        if count or self.identity.producer not in ("engine", "torch.fx"):
            return count or None
        return None if facts.call_operators() else 0

    def _paths(self) -> dict[str, str]:
        """The module that each node was made in, by name."""
        return {node.name: _path(node) for node in self._graph.nodes}


_WRITTEN = "'s graph, written by fxls. To change it, change the model."


def _path(node: Node) -> str:
    scope: ScopeSnapshot | None = node._scope  # pyright: ignore[reportPrivateUsage]  # as the engine keeps it
    return "" if scope is None else scope.path


def _graph_of(module: Any) -> Graph:
    graph = getattr(module, "graph", None)
    if not isinstance(graph, Graph):
        raise TypeError(
            f"{type(module).__name__} is no GraphModule of fxls.engine: it has no graph"
        )
    return graph
