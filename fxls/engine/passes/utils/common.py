"""Making a part of a graph into a module of its own, and comparing graphs."""

from __future__ import annotations

from collections.abc import Mapping

from torch.nn import Module

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that only holds others, under the names that they have elsewhere."""

    def __init__(self, d: Mapping[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule,
    subgraph: Graph,
    comp_name: str = "",
    class_name: str = "GraphModule",
) -> tuple[GraphModule, dict[str, str]]:
    """A module for a graph whose nodes were copied from that of `gm`, and where its
    members went: path in `gm` to path behind `comp_name`.

    The members are those of `gm`, not copies, at the same paths.
    """
    holder = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op != "call_module" and node.op != "get_attr":
            continue
        path = str(node.target)
        *way, last = path.split(".")
        source: Module = gm
        owner: Module = holder
        for atom in way:
            source = getattr(source, atom)
            if not hasattr(owner, atom):
                owner.add_module(atom, HolderModule({}))
            owner = getattr(owner, atom)
        setattr(owner, last, getattr(source, last))
        paths[path] = f"{comp_name}.{path}"
    return GraphModule(holder, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same, with as many inputs and results, in one order."""
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return bool(matcher.match(right))
