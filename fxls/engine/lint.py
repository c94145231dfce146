"""What makes a graph well-formed: every rule stands here.

A rule looks at one node and yields its faults as sentences; `check` reports all of
them, each with the lines around the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from fxls.engine.arguments import references
from fxls.engine.node import OPCODES

if TYPE_CHECKING:
    from fxls.engine.graph import Graph
    from fxls.engine.node import Node

__all__ = ["check", "faults"]

_SHOWN = 2
"""How many lines in front of and behind a faulty node a report shows."""


def check(graph: Graph) -> None:
    """Raise RuntimeError with every fault of the graph."""
    found = list(faults(graph))
    if not found:
        return
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    reports: list[str] = []
    for node, fault in found:
        at = place[node]
        around = [
            f"  {'>' if i == at else ' '} {nodes[i].format_node()}"
            for i in range(max(0, at - _SHOWN), min(len(nodes), at + _SHOWN + 1))
        ]
        reports.append("\n".join([fault, *around]))
    raise RuntimeError("\n".join(reports))


def faults(graph: Graph) -> Iterator[tuple[Node, str]]:
    """Each broken rule with the node that breaks it, in the order of the graph."""
    seen: set[Node] = set()
    names: set[str] = set()
    module = graph.owning_module
    known: dict[str, str | None] = {}
    for node in graph.nodes:
        op = node._op
        if op not in OPCODES or op == "root":
            yield node, f"Node {node} had unknown opcode {op}!"
        if node.graph is not graph:
            yield node, f"Node '{node}' does not belong to this Graph!"
        if node._name in names:
            yield node, f"Node redefined name {node._name}!"
        for used in references(node._args, node._kwargs):
            if used in seen:
                continue
            fault = _ELSEWHERE if used.graph is not graph else _TOO_EARLY
            yield node, fault.format(used=used, node=node)
        seen.add(node)
        names.add(node._name)
        if module is not None and (op == "call_module" or op == "get_attr"):
            target = str(node._target)
            if target not in known:
                known[target] = _missing(module, target)
            if (gone := known[target]) is not None:
                yield node, f"Node {node} target {target} {gone}"
            elif op == "call_module" and not isinstance(
                _reach(module, target), torch.nn.Module
            ):
                yield node, f"Node {node} calls {target}, which is no torch.nn.Module"


_ELSEWHERE = "Argument '{used}' of Node '{node}' does not belong to this Graph; node_copy() takes an arg_transform that maps the nodes of another graph"
_TOO_EARLY = "Argument '{used}' of Node '{node}' was used before it has been defined: move '{node}' behind it"


def _missing(module: Any, target: str) -> str | None:
    """What is wrong with a path from the module; None when it leads somewhere."""
    at = module
    for atom in target.split("."):
        if not hasattr(at, atom):
            return f"references nonexistent attribute {atom} of {type(at).__name__}"
        at = getattr(at, atom)
    return None


def _reach(module: Any, target: str) -> Any:
    for atom in target.split("."):
        module = getattr(module, atom)
    return module
