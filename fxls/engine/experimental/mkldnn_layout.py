"""Parts of a graph run on tensors in the layout of oneDNN, where that is worth it.

Around each node that oneDNN knows its inputs change layout, and its result changes back.
Pairs of changes that undo each other go; what is left are subgraphs that begin and end
with a change, and a heuristic says which of them to keep.
"""

from __future__ import annotations

import copy
import operator
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
import torch.nn.functional as F  # noqa: N812 - the name it goes by
from torch import nn

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.interpreter import Interpreter
from fxls.engine.ir.arguments import map_references
from fxls.engine.ir.node import Node
from fxls.engine.tracing.tracer import Tracer

__all__ = [
    "Heuristic",
    "MklSubgraph",
    "UnionFind",
    "convert",
    "extract_subgraph",
    "gen_mkl_autotuner",
    "modules_by_path",
    "modules_to_mkldnn",
    "replace_node_module",
    "reset_modules",
    "use_mkl_length",
]

with warnings.catch_warnings():
    # The module is written with functions that torch itself deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import torch.utils.mkldnn as layers

_layers: Any = layers
_torch: Any = torch

_KNOWN: frozenset[Any] = frozenset(
    (
        *(nn.AdaptiveAvgPool2d, nn.AvgPool2d, nn.BatchNorm2d, nn.Conv2d, nn.Linear),
        *(nn.MaxPool2d, nn.ReLU, F.adaptive_avg_pool2d, F.avg_pool2d, F.relu),
        *(_torch.relu, _torch.sigmoid, _torch.transpose),
    )
)
"""Modules and functions that oneDNN has an implementation of."""

_KNOWN_FOR_TENSORS: frozenset[Any] = frozenset((operator.add, operator.mul))
"""Those that it has one of for tensors: taken when one is in its layout already. It
multiplies by a number as well, on the right."""

_CONVERTED: dict[type[nn.Module], Callable[[nn.Module], nn.Module]] = {
    nn.Conv2d: lambda one: _layers.MkldnnConv2d(one, torch.float),
    nn.Linear: lambda one: _layers.MkldnnLinear(one, torch.float),
    nn.BatchNorm2d: lambda one: _layers.MkldnnBatchNorm(one),
}
"""Modules whose parameters change layout once, before the module runs."""


@dataclass(eq=False)
class MklSubgraph:
    """Nodes that run in the layout, and the changes into it and out of it."""

    fx_graph: Graph
    nodes: list[Node] = field(default_factory=list["Node"], init=False)
    start_nodes: list[Node] = field(default_factory=list["Node"], init=False)
    end_nodes: list[Node] = field(default_factory=list["Node"], init=False)


Heuristic = Callable[[MklSubgraph], bool]
"""Whether a subgraph is worth the changes of layout."""


class UnionFind:
    """Disjoint sets of the numbers below `n`."""

    def __init__(self, n: int) -> None:
        self.size = [0] * n
        self.parent: list[int | None] = [None] * n

    def join(self, a: int, b: int) -> int:
        """Make one set of two; returns the number that stands for it."""
        big, small = self.find(a), self.find(b)
        if big != small:
            if self.size[big] < self.size[small]:
                big, small = small, big
            self.parent[small] = big
            self.size[big] += self.size[small]
        return big

    def find(self, v: int) -> int:
        """The number that stands for the set of `v`."""
        root = v
        while (above := self.parent[root]) != root:
            if above is None:
                raise AssertionError(f"{v} was not put into a set")
            root = above
        while v != root:
            self.parent[v], v = root, cast("int", self.parent[v])
        return root

    def make_set(self, v: int) -> None:
        """Put a number into a set of its own."""
        self.size[v], self.parent[v] = 1, v


def modules_by_path(module: nn.Module) -> dict[str, nn.Module]:
    """Every submodule by each of its paths; the module itself by the empty one."""
    untyped: Any = module
    return dict(untyped.named_modules(remove_duplicate=False))


def replace_node_module(
    node: Node, modules: dict[str, nn.Module], new_module: nn.Module
) -> None:
    """Put another module where a node calls one, in the table and in its parent."""
    parent, _, name = cast("str", node.target).rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def extract_subgraph(
    orig_module: nn.Module,
    nodes: list[Node],
    inputs: list[Node],
    outputs: list[Node],
) -> GraphModule:
    """A module that runs `nodes` on values for `inputs`, and returns a list."""
    graph = Graph()
    copies = {one: graph.placeholder(one.name) for one in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output([copies[one] for one in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


def modules_to_mkldnn(
    nodes: list[Node], modules: dict[str, nn.Module]
) -> dict[nn.Module, nn.Module]:
    """Change the layout of the modules that are called; from the new ones to the old."""
    old: dict[nn.Module, nn.Module] = {}
    for node in nodes:
        if node.op == "call_module":
            module = modules[node.target]
            converted = _CONVERTED.get(type(module))
            if converted is not None:
                new = converted(module)
                old[new] = copy.deepcopy(module)
                replace_node_module(node, modules, new)
    return old


def reset_modules(
    nodes: Iterable[Node],
    modules: dict[str, nn.Module],
    old_modules: dict[nn.Module, nn.Module],
) -> None:
    """Put the modules back that `modules_to_mkldnn` replaced."""
    for node in nodes:
        if node.op == "call_module":
            old = old_modules.get(modules[node.target])
            if old is not None:
                replace_node_module(node, modules, old)


def use_mkl_length(graph: MklSubgraph) -> bool:
    """A heuristic: more than two nodes are worth it."""
    return len(graph.nodes) > 2


def gen_mkl_autotuner(
    example_inputs: list[torch.Tensor], iters: int = 10, warmup: int = 1
) -> Heuristic:
    """A heuristic that measures both ways, on inputs of the shapes of these."""
    shapes: dict[Node, Any] = {}

    def seconds(function: Callable[[], object]) -> float:
        for _ in range(warmup):
            function()
        start = time.perf_counter()
        for _ in range(iters):
            function()
        return time.perf_counter() - start

    def is_faster(graph: MklSubgraph) -> bool:
        module = graph.fx_graph.owning_module
        if module is None:
            raise AssertionError("the graph of the subgraph is of no module")
        if not shapes:
            _Shapes(module, shapes).run(*example_inputs)
        samples = [torch.randn(shapes[one]) for one in graph.start_nodes]
        results = [cast("Node", one.args[0]) for one in graph.end_nodes]
        part = extract_subgraph(module, graph.nodes, graph.start_nodes, results)

        def converted() -> object:
            return [x.to_dense() for x in part(*[x.to_mkldnn() for x in samples])]

        with_layout = seconds(converted)
        old = cast("Any", graph.fx_graph).old_modules
        reset_modules(part.graph.nodes, modules_by_path(part), old)
        return with_layout < seconds(lambda: part(*samples))

    return is_faster


class _Shapes(Interpreter):
    """Notes the shape of every tensor; one in oneDNN's layout has nothing else to note."""

    def __init__(self, module: nn.Module, shapes: dict[Node, Any]) -> None:
        super().__init__(module)
        self._shapes = shapes

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if isinstance(value, torch.Tensor):
            self._shapes[n] = value.shape
        return value


def convert(
    model: nn.Module, heuristic: Heuristic, tracer: type[Tracer] = Tracer
) -> GraphModule:
    """The module with the subgraphs that the heuristic wants in the other layout."""
    graph = tracer().trace(copy.deepcopy(model))
    modules = modules_by_path(model)
    for node in list(graph.nodes):
        if _is_known(node, modules):
            _surround(node)
    old_modules = modules_to_mkldnn(list(graph.nodes), modules)
    graph.old_modules = old_modules  # pyright: ignore[reportAttributeAccessIssue]  # what heuristics read
    _cancel(graph)
    GraphModule(model, graph)
    kept = _subgraphs(graph)
    dropped = [one for one in kept if not heuristic(one)]
    while dropped:
        for subgraph in dropped:
            for change in (*subgraph.start_nodes, *subgraph.end_nodes):
                change.replace_all_uses_with(cast("Node", change.args[0]))
                graph.erase_node(change)
            reset_modules(subgraph.nodes, modules, old_modules)
        kept = [one for one in kept if one not in dropped]
        # A module has one layout: where it is back in the old one, no other subgraph
        # can call it in the new one.
        dropped = [one for one in kept if not _is_converted(one, modules)]
    graph.lint()
    return GraphModule(model, graph)


def _is_known(node: Node, modules: dict[str, nn.Module]) -> bool:
    if node.op == "call_module":
        module = modules[node.target]
        if type(module) not in _KNOWN:
            return False
        for parameter in list(module.parameters())[:1]:
            if parameter.dtype != torch.float or parameter.device.type != "cpu":
                raise AssertionError(
                    "the layout of oneDNN is for float32 modules on the CPU:"
                    f" {node.target} is {parameter.dtype} on {parameter.device}"
                )
        return True
    if node.op != "call_function":
        return False
    if node.target in _KNOWN_FOR_TENSORS:
        first, second = node.args
        return (
            any(getattr(one, "target", None) == _BACK for one in node.args)
            and (isinstance(second, Node) or node.target is operator.mul)
            and isinstance(first, Node)
        )
    return node.target in _KNOWN


def _is_converted(subgraph: MklSubgraph, modules: dict[str, nn.Module]) -> bool:
    """Whether every module is converted that can be."""
    called = [modules[one.target] for one in subgraph.nodes if one.op == "call_module"]
    return not any(type(one) in _CONVERTED for one in called)


_INTO = "to_mkldnn"
_BACK = "to_dense"


def _surround(node: Node) -> None:
    """Change the layout of a node's inputs, and that of its result back."""
    graph = node.graph

    def change(used: Node) -> Node:
        changed = graph.call_method(_INTO, (used,))
        changed._frames = node._frames
        return changed

    with graph.inserting_before(node):
        node.args = map_references(node.args, change)
    with graph.inserting_after(node):
        back = graph.call_method(_BACK, (node,))
    back._frames = node._frames
    node.replace_all_uses_with(back, lambda user: user is not back)


def _cancel(graph: Graph) -> None:
    """Take out the pairs of changes that undo each other."""
    for node in graph.nodes:
        if node.op == "call_method" and node.target == _BACK:
            for user in list(node.users):
                if user.op == "call_method" and user.target == _INTO:
                    user.replace_all_uses_with(cast("Node", node.args[0]))
                    graph.erase_node(user)
            if not node.users:
                graph.erase_node(node)


def _subgraphs(graph: Graph) -> Sequence[MklSubgraph]:
    """What is connected within the layout, in the order of the first nodes."""
    nodes = list(graph.nodes)
    sets = UnionFind(len(nodes))
    inside: dict[Node, int] = {}
    for number, node in enumerate(nodes):
        is_change = node.op == "call_method" and node.target == _INTO
        reached = [inside[used] for used in node.all_input_nodes if used in inside]
        if is_change:
            sets.make_set(number)
            inside[node] = number
        elif reached and not (node.op == "call_method" and node.target == _BACK):
            for other in reached[1:]:
                sets.join(reached[0], other)
            inside[node] = reached[0]
    found: dict[int, MklSubgraph] = {}

    def subgraph_of(node: Node) -> MklSubgraph:
        return found.setdefault(sets.find(inside[node]), MklSubgraph(graph))

    for node in nodes:
        if node.op == "call_method" and node.target == _BACK:
            subgraph_of(cast("Node", node.args[0])).end_nodes.append(node)
        elif node.op == "call_method" and node.target == _INTO:
            subgraph_of(node).start_nodes.append(node)
        elif node in inside:
            subgraph_of(node).nodes.append(node)
    return list(found.values())
