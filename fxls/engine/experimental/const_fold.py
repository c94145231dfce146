"""What a module computes from its own attributes alone, computed once."""

from __future__ import annotations

import copy
import operator
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.nn import Module, Parameter, ParameterList

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.node import Node
from fxls.engine.late_names import late_names
from fxls.engine.origins import resolve as origin

__all__ = [
    "FoldedGraphModule",
    "get_unique_attr_name_in_module",
    "split_const_subgraphs",
]


class FoldedGraphModule(GraphModule):
    """A module that reads constants which another graph computes, before its first run.

    - `const_subgraph_module` computes them, and is None when there are none.
    - They become parameters under `fx_const_folded_attrs_name`: one, or a list of them.
    """

    def __init__(
        self,
        root: Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module: GraphModule | None = (
            None if const_subgraph is None else GraphModule(root, const_subgraph)
        )
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the forward; the first time, compute the constants before."""
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants, once."""
        if self.const_subgraph_module is None or not self.fx_const_folded_attrs_name:
            return
        if self.has_folding_been_run:
            raise AssertionError("the constants are folded already")
        folded = self.const_subgraph_module()
        self.has_folding_been_run = True
        made = (
            ParameterList([self._parameter(one) for one in cast("Any", folded)])
            if isinstance(folded, tuple)
            else self._parameter(folded)
        )
        setattr(self, self.fx_const_folded_attrs_name, made)

    def _parameter(self, value: torch.Tensor | int) -> Parameter:
        if isinstance(value, int):
            number = torch.tensor([value], dtype=torch.float)
            return Parameter(number.to(self.device_for_folded_attrs), False)  # noqa: FBT003 - has no name for it in every version
        return Parameter(value.detach().clone(), value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: GraphModule, name: str) -> str:
    """A name like this one that is an identifier and no attribute of the module yet."""
    name = re.sub(r"\W+", "_", name, flags=re.ASCII)
    if name[0].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        stem, _, number = name.rpartition("_")
        numbered = stem and number.isdecimal()
        name = f"{stem}_{int(number) + 1}" if numbered else f"{name}_1"
    return name


def split_const_subgraphs(
    module: Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
    is_impure_node: Callable[[Node], bool] | None = None,
) -> FoldedGraphModule:
    """A module that computes what depends on no input before its first run alone.

    - A node stays when `skip_folding_node_fn` says so, or when it does anything besides
      giving a value.
    - What nobody uses afterwards stays when `is_impure_node` says so; by default, when
      it does anything besides giving a value.
    - `module` stays as it is, and owns its parameters together with the new one.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constants = _constants(traced, skip_folding_node_fn)
    results = _results(traced.graph, constants)
    if not results:
        return FoldedGraphModule(traced, traced.graph)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    # A copy, which shares all it has, gets the new attribute.
    root = copy.copy(traced)
    several = len(results) > 1
    setattr(root, name, ParameterList() if several else Parameter(torch.empty(0)))
    folded = FoldedGraphModule(
        root,
        _remainder(traced.graph, constants, results, name),
        _constant_graph(traced.graph, constants, results),
        name,
        device_for_folded_attrs,
    )
    folded.graph.eliminate_dead_code(is_impure_node)
    return folded


def _constants(
    module: GraphModule, skips: Callable[[Node], bool] | None
) -> dict[Node, None]:
    """The nodes that depend on no input, in order."""
    found: dict[Node, None] = {}
    for node in module.graph.nodes:
        if (
            node.op not in ("placeholder", "output")
            and found.keys() >= set(node.all_input_nodes)
            and not (skips is not None and skips(node))
            and not node.is_impure()
            and not _has_symbolic_fill(node)
            and not _calls_impure(module, node)
        ):
            found[node] = None
    return found


def _has_symbolic_fill(node: Node) -> bool:
    """Whether a node makes a tensor of a symbolic number."""
    sympy: Any = sys.modules.get("sympy")
    return sympy is not None and isinstance(node.kwargs.get("fill_value"), sympy.Expr)


def _calls_impure(module: GraphModule, node: Node) -> bool:
    """Whether a node calls a graph that does anything besides giving a value."""
    if node.op != "call_module":
        return False
    called = module.get_submodule(node.target)
    return isinstance(called, GraphModule) and any(
        (inner.op == "call_function" and inner.is_impure())
        or _calls_impure(called, inner)
        for inner in called.graph.nodes
    )


def _results(graph: Graph, constants: dict[Node, None]) -> list[Node]:
    """The computed constants that other nodes use, in the order of their first use."""
    used: dict[Node, None] = {}
    for node in graph.nodes:
        if node not in constants:
            used.update(dict.fromkeys(node.all_input_nodes))
    return [node for node in used if node in constants and node.op != "get_attr"]


def _constant_graph(
    graph: Graph, constants: dict[Node, None], results: list[Node]
) -> Graph:
    new = Graph()
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        if node in constants:
            copies[node] = new.node_copy(node, copies.__getitem__)
    made = [copies[node] for node in results]
    new.output(tuple(made) if len(made) > 1 else made[0])
    return new


def _remainder(
    graph: Graph, constants: dict[Node, None], results: list[Node], name: str
) -> Graph:
    """The graph without what is computed elsewhere."""
    new = Graph(tracer_cls=graph._tracer_cls)
    new.set_codegen(copy.deepcopy(graph._codegen))
    copies: dict[Node, Node] = {}

    def take(node: Node) -> None:
        copies[node] = new.node_copy(node, copies.__getitem__)

    for node in graph.nodes:
        if node.op == "placeholder":
            take(node)
    for node in constants:
        if node.op == "get_attr" and node.users.keys() - constants.keys():
            take(node)
    folded = new.get_attr(name)
    folded._frames = origin.merge(
        [node._frames for node in constants if node.op != "get_attr"]
    )
    for i, node in enumerate(results):
        made = folded
        if len(results) > 1:
            made = new.call_function(operator.getitem, (folded, i))
            made._frames = node._frames
        made.meta = dict(node.meta)
        copies[node] = made
    for node in graph.nodes:
        if node.op != "placeholder" and node not in constants:
            take(node)
    return new


if not TYPE_CHECKING:
    __getattr__ = late_names(__name__)
