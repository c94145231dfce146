"""What makes a graph well-formed: every rule stands in `faults`.

A rule looks at one node and yields its faults as sentences; `check` reports all of
them, each with the lines around the node. Before it looks for faults it asks whether
there can be any, which takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import torch

from fxls.engine.ir.arguments import ATOMS, EMPTY_KWARGS, references
from fxls.engine.ir.node import OPCODES, Node
from fxls.engine.ir.node_list import ordered
from fxls.engine.ir.opcodes import takes_target
from fxls.engine.ir.target_names import pretty_target

if TYPE_CHECKING:
    from fxls.engine.graph import Graph

__all__ = ["check", "faults"]

_LISTED = OPCODES - {"root"}

_SHOWN = 2
"""How many lines in front of and behind a faulty node a report shows."""


def check(graph: Graph) -> None:
    """Raise RuntimeError with every fault of the graph."""
    if _is_sound(graph):
        return
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
        if op not in _LISTED:
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
        target: Any = node._target
        if op in _LISTED and not takes_target(op, target):
            expected = "a Callable" if op == "call_function" else "a str"
            shown, kind = pretty_target(target), type(target).__name__
            yield node, _MISMATCH.format(node, shown, kind, expected)
        elif module is not None and (op == "call_module" or op == "get_attr"):
            if target not in known:
                known[target] = _missing(module, target)
            if (gone := known[target]) is not None:
                yield node, f"Node {node} target {target} {gone}"
            elif op == "call_module" and not isinstance(
                _reach(module, target), torch.nn.Module
            ):
                yield node, f"Node {node} calls {target}, which is no torch.nn.Module"


_MISMATCH = (
    "Node {} target {} has type {} but {} is expected: assign op and target both"
)
_ELSEWHERE = "Argument '{used}' of Node '{node}' does not belong to this Graph; node_copy() takes an arg_transform that maps the nodes of another graph"
_TOO_EARLY = "Argument '{used}' of Node '{node}' was used before it has been defined: move '{node}' behind it"


def _is_sound(graph: Graph) -> bool:
    """Whether no rule is broken; False also where only `faults` can tell."""
    nodes = ordered(graph)
    if graph._has_given_names or graph._may_mismatch:
        return False
    if not _are_in_order(nodes, graph):
        return False
    module = graph.owning_module
    return module is None or _Paths(module).lead_somewhere(_paths(nodes))


def _are_in_order(nodes: Iterable[Node], graph: Graph) -> bool:
    """Whether all that the nodes use is of the graph, and in front of them."""
    for node in nodes:
        if node.graph is not graph or node._op not in _LISTED:
            return False
        args = node._args
        if node._kwargs:
            args = (*args, *node._kwargs.values())
        for a in args:
            if type(a) is Node:  # what `_is_in_front` says, whose call takes a quarter
                if a._sort_key >= node._sort_key or a.graph is not graph or a._erased:
                    return False
            elif type(a) not in ATOMS:
                for used in cast("list[Node]", references((a,), EMPTY_KWARGS)):
                    if not _is_in_front(used, node):
                        return False
    return True


def _paths(nodes: Iterable[Node]) -> dict[str, bool]:
    """The paths that nodes name, and whether one of them calls what is there."""
    paths: dict[str, bool] = {}
    for node in nodes:
        op = node._op
        if op == "call_module":
            paths[cast("str", node._target)] = True
        elif op == "get_attr":
            paths.setdefault(cast("str", node._target), False)
    return paths


def _is_in_front(used: Node, node: Node) -> bool:
    """Whether a node is in the graph of the one that uses it, and in front of it."""
    # One that was erased keeps its label.
    return (
        used._sort_key < node._sort_key
        and used.graph is node.graph
        and not used._erased
    )


class _Paths:
    """The paths of one module, read off its tables.

    What `getattr` would ask the class first takes ten times as long, so what is in no
    table is left to `faults`.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._modules = {"": module}

    def lead_somewhere(self, paths: Mapping[str, bool]) -> bool:
        """Whether each leads to a module (where True) or to anything (where False)."""
        return all(
            self._module_at(path) is not None if is_module else self._has(path)
            for path, is_module in paths.items()
        )

    def _has(self, path: str) -> bool:
        way, _, name = path.rpartition(".")
        module = self._module_at(way)
        return module is not None and (
            name in module._parameters
            or name in module._buffers
            or name in module._modules
            or name in module.__dict__
        )

    def _module_at(self, path: str) -> torch.nn.Module | None:
        known = self._modules.get(path)
        if known is None:
            way, _, name = path.rpartition(".")
            holder = self._module_at(way)
            known = None if holder is None else holder._modules.get(name)
            if known is not None:
                self._modules[path] = known
        return known


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
