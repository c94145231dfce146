"""One part of a graph while `split_module` makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fxls.engine.graph import Graph
from fxls.engine.ir.node import Node
from fxls.engine.lasting import lasting

__all__ = ["Partition"]

_Names: TypeAlias = dict[str, None]
"""Names in their order."""


@lasting("fxls.engine.passes.split_module")
@dataclass(eq=False, repr=False)
class Partition:
    """One part of a graph while it is made; nodes are known by their names."""

    name: str
    graph: Graph = field(init=False, default_factory=Graph)
    node_names: list[str] = field(init=False, default_factory=list[str])
    inputs: _Names = field(init=False, default_factory=dict[str, None])
    outputs: _Names = field(init=False, default_factory=dict[str, None])
    dependencies: _Names = field(init=False, default_factory=dict[str, None])
    """The parts that this one uses; emptied while the parts are put in order."""
    dependents: _Names = field(init=False, default_factory=dict[str, None])
    environment: dict[Node, Node] = field(init=False, default_factory=dict[Node, Node])
    """Node of the whole graph to node of this one."""
    targets: dict[str, Any] = field(init=False, default_factory=dict[str, Any])
    """What the nodes call and read, by path."""

    def __post_init__(self) -> None:
        self.submod_name = f"submod_{self.name}"

    def __repr__(self) -> str:
        return (
            f"partition {self.name} of {self.node_names}: takes {list(self.inputs)} and"
            f" gives {list(self.outputs)}, depends on {list(self.dependencies)} and"
            f" before {list(self.dependents)}"
        )
