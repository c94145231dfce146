"""Finding the nodes that one function or module of the source was taken apart into."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from fxls.engine.graph import Graph
from fxls.engine.ir.foreign import noted
from fxls.engine.ir.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes that one call of a function or module became."""

    nodes: list[Node]
    source: Any
    """The function, the class of the module, or the name of the function."""
    input_nodes: list[Node] = field(default_factory=list[Node])
    """What they use of others, without parameters."""
    output_nodes: list[Node] = field(default_factory=list[Node])
    """Those that others use."""
    params: list[Node] = field(default_factory=list[Node])
    """Those that read parameters."""


def get_source_partitions(
    graph: Graph,
    wanted_sources: list[Any],
    filter_fn: Callable[[Node], bool] | None = None,
) -> dict[Any, list[SourcePartition]]:
    """For each source the partitions that came from it, in the order of the graph.

    - A source is a function, the class of a leaf module, or the name of a function. What
      a node came from is noted in its meta, by exporting or by `preserve_node_meta`:
      under ``source_fn_stack``, else ``torch_fn``, else ``nn_module_stack``.
    - With `filter_fn`, only partitions all of whose nodes it admits.
    """
    found: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        for source, call in _sources(node, wanted_sources):
            found.setdefault(source, {}).setdefault(call, []).append(node)
    return {
        source: [
            _partition(nodes, source)
            for nodes in calls.values()
            if filter_fn is None or all(map(filter_fn, nodes))
        ]
        for source, calls in found.items()
    }


def check_subgraphs_connected(
    subgraph1: SourcePartition, subgraph2: SourcePartition
) -> bool:
    """Whether a node of the second uses one of the first."""
    nodes = set(subgraph2.nodes)
    return any(not nodes.isdisjoint(node.users) for node in subgraph1.nodes)


def _sources(node: Node, wanted: list[Any]) -> Iterable[tuple[Any, str]]:
    """The wanted source that a node came from, and which call of it; or none."""
    stack = noted(node, "source_fn_stack")
    if stack is not None:
        call, source = stack[-1]
        return [(source, call)] if source in wanted else []
    call_and_name = noted(node, "torch_fn")
    if call_and_name is not None:
        call, name = call_and_name
        name = name.split(".")[1]
        if name in wanted:
            return [(name, call)]
    modules = noted(node, "nn_module_stack")
    if modules and node.op == "call_function":
        path, kind = list(modules.values())[-1]
        for source in wanted:
            if _is_of(kind, source):
                return [(source, path)]
    return []


def _is_of(kind: Any, source: Any) -> bool:
    """Whether a module's class, or its qualified name, is a wanted source."""
    if not isinstance(source, type):
        return bool(kind == source)
    if isinstance(kind, type):
        return issubclass(kind, source)
    return bool(kind == f"{source.__module__}.{source.__qualname__}")


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    own = set(nodes)
    inputs = {
        arg: None
        for node in nodes
        for arg in node.args
        if isinstance(arg, Node) and arg not in own and arg.op != "get_attr"
    }
    params = [node for node in nodes if node.op == "get_attr"]
    outputs = [
        node
        for node in nodes
        if node.op != "get_attr" and not own.issuperset(node.users)
    ]
    return SourcePartition(nodes, source, list(inputs), outputs, params)
