"""What the splitters ask of nodes, and putting a graph in order."""

from __future__ import annotations

import heapq
import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import torch

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node
from fxls.engine.ir.target_names import qualified_name
from fxls.engine.torch_private import OPERATOR_MODULE

__all__ = [
    "CALLABLE_NODE_OPS",
    "FxNetAccFusionsFinder",
    "Names",
    "NodeList",
    "NodeSet",
    "TensorOrTensors",
    "Tensors",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
    "submodules_of",
]

Tensors: TypeAlias = tuple[torch.Tensor] | list[torch.Tensor]
TensorOrTensors: TypeAlias = torch.Tensor | Tensors
NodeList: TypeAlias = list[Node]
NodeSet: TypeAlias = set[Node]
Names: TypeAlias = list[str]

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}
"""The opcodes of what can be given to a backend."""


def get_acc_ops_name(k: str | type) -> str:
    """The name of a class or function in tables of supported operations."""
    if isinstance(k, str):
        return k
    module = k.__module__
    if module and "acc_ops" in module:
        return f"acc_ops.{k.__name__}"
    return f"{(module or '').replace(OPERATOR_MODULE, 'torch.ops')}.{k.__name__}"


def get_node_target(submodules: Mapping[str, torch.nn.Module], node: Node) -> str:
    """The name of what a node calls in tables of supported operations.

    That is the name of a method, the qualified name of a function, and for a submodule
    that of its class. Raises AssertionError for a node that calls nothing.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"{node.format_node()} calls nothing: only"
            f" {', '.join(sorted(CALLABLE_NODE_OPS))} have a target's name"
        )
    target: Any = node.target
    if node.op == "call_method":
        return target
    if node.op == "call_module":
        module = submodules[target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if "acc_ops" in (target.__module__ or ""):
        return f"acc_ops.{target.__name__}"
    return qualified_name(target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node gave a tensor when `ShapeProp` ran it; False when it did not run."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, torch.Tensor)


def submodules_of(module: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """All submodules by their paths, the module itself under the empty one."""
    named = cast("Iterable[tuple[str, torch.nn.Module]]", module.named_modules())
    return dict(named)


class FxNetAccFusionsFinder:
    """Finds the nodes that hand each other something else than tensors.

    A backend's submodule passes tensors alone across its border, so these belong
    together: one group for each, closed under what lies between its nodes. Nodes of a
    group that is not supported as a whole are taken out of `acc_nodes`.
    """

    def __init__(self, module: GraphModule, acc_nodes: NodeSet) -> None:
        self.acc_nodes = acc_nodes
        self.module = module
        self.nodes = list(module.graph.nodes)
        self.node_index = dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    @dataclass
    class FusionGroup:
        """A group while it grows."""

        top_node_idx: int
        """The place of its first node in the graph."""
        nodes: set[Node]
        inputs: set[Node]
        """The calls outside that its nodes use."""
        nodes_need_process: set[Node]
        """Those whose neighbours were not looked at yet."""

        def add_node(self, node: Node) -> None:
            """Add a node, unless it is there already."""
            if node not in self.nodes:
                self.inputs.discard(node)
                self.nodes.add(node)
                self.nodes_need_process.add(node)
                for used in node.all_input_nodes:
                    if used.op in CALLABLE_NODE_OPS and used not in self.nodes:
                        self.inputs.add(used)

    def recursive_add_node(
        self,
        fusion_group: FusionGroup,
        inputs: NodeSet | NodeList,
        visited: NodeSet | None = None,
    ) -> bool:
        """Add what lies upstream of `inputs` and downstream of the group.

        Whether any of the inputs is in the group, or leads to it. Nodes in `visited`
        are left aside; those that were looked at are added to it.
        """
        seen: NodeSet = set() if visited is None else visited
        own = fusion_group.nodes
        waiting = list(inputs)
        between: NodeList = []
        is_inside = False
        while waiting:
            node = waiting.pop()
            if node in own:
                is_inside = True
            elif (
                node not in seen
                and node.op in CALLABLE_NODE_OPS
                and self.node_index[node] >= fusion_group.top_node_idx
            ):
                seen.add(node)
                between.append(node)
                waiting.extend(node.all_input_nodes)
        for node in sorted(between, key=self.node_index.__getitem__):
            if not own.isdisjoint(node.all_input_nodes):
                fusion_group.add_node(node)
        return is_inside

    def __call__(self) -> dict[Node, NodeSet]:
        """Each node of a group with all nodes of its group."""
        groups: dict[Node, NodeSet] = {}
        for node in self.nodes:
            if (
                node not in self.acc_nodes
                or node in groups
                or node.op not in CALLABLE_NODE_OPS
                or "tensor_meta" in node.meta
            ):
                continue
            nodes = self._group_of(node).nodes
            if nodes <= self.acc_nodes:
                groups.update(dict.fromkeys(nodes, nodes))
            else:
                self.acc_nodes -= nodes
        return groups

    def _group_of(self, node: Node) -> FusionGroup:
        group = self.FusionGroup(
            self.node_index[node], {node}, set(node.all_input_nodes), {node}
        )
        while group.nodes_need_process:
            node = group.nodes_need_process.pop()
            self.recursive_add_node(group, group.inputs)
            if "tensor_meta" not in node.meta:
                for user in node.users:
                    self._join(group, user)
            for used in node.all_input_nodes:
                if "tensor_meta" not in used.meta:
                    self._join(group, used)
        return group

    def _join(self, group: FusionGroup, node: Node) -> None:
        if node.op in CALLABLE_NODE_OPS and node not in group.nodes:
            group.add_node(node)
            group.top_node_idx = min(group.top_node_idx, self.node_index[node])
            self.recursive_add_node(group, group.inputs)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Give a module a copy of its graph in which values come before their uses.

    Nodes are taken as soon as all that they use is there, those that check sizes first;
    `stable_topological_sort` keeps the order where it can. Raises RuntimeError for a
    graph that uses what it computes; the module keeps its graph then.
    """
    refuse_foreign(gm)
    ready: deque[Node] = deque()

    def put(node: Node) -> None:
        if node.op == "call_function" and node.target in _FIRST:
            ready.appendleft(node)
        else:
            ready.append(node)

    left = _reordered(gm, ready.extend, put, ready.popleft, lambda: bool(ready))
    if left:
        raise RuntimeError(f"the graph has cycles, in which these nodes are: {left}")
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Give a module a copy of its graph in which values come before their uses.

    Of the nodes that can be next, the first in the old order is. Raises AssertionError
    for a graph that uses what it computes; the module keeps its graph then.
    """
    refuse_foreign(gm)
    place = {node: i for i, node in enumerate(gm.graph.nodes)}
    ready: list[tuple[int, Node]] = []

    def put(node: Node) -> None:
        heapq.heappush(ready, (place[node], node))

    def put_all(nodes: Iterable[Node]) -> None:
        for node in nodes:
            put(node)

    left = _reordered(
        gm, put_all, put, lambda: heapq.heappop(ready)[1], lambda: bool(ready)
    )
    if left:
        raise AssertionError(f"the graph has cycles, in which these nodes are: {left}")
    return gm


def _reordered(
    gm: GraphModule,
    put_all: Callable[[Iterable[Node]], None],
    put: Callable[[Node], None],
    take: Callable[[], Node],
    has_more: Callable[[], bool],
) -> NodeList:
    """Copy the graph in the order in which `take` gives nodes; those that never come."""
    graph = gm.graph
    missing = {node: len(node.all_input_nodes) for node in graph.nodes}
    put_all([node for node, count in missing.items() if count == 0])
    made = Graph()
    copies: dict[Node, Node] = {}
    while has_more():
        node = take()
        copies[node] = made.node_copy(node, copies.__getitem__)
        for user in node.users:
            missing[user] -= 1
            if missing[user] == 0:
                put(user)
    if len(copies) < len(missing):
        return [node for node, count in missing.items() if count]
    made.set_codegen(graph._codegen)
    gm.graph = made
    return []


_COMPARING = ("eq", "ne", "lt", "le", "gt", "ge")
_COMPUTING = ("add", "sub", "mul", "truediv", "floordiv", "mod")
_FIRST: frozenset[Any] = frozenset(
    {getattr(operator, name) for name in (*_COMPARING, *_COMPUTING)}
    | {
        torch.ops.aten.sym_constrain_range.default,
        torch.ops.aten.sym_constrain_range_for_size.default,
        torch.ops.aten.scalar_tensor.default,
        torch.ops.aten._assert_async.msg,
        torch.ops.aten._assert_scalar.default,
    }
)
"""What checks at run time are made of: they go before what depends on data."""
