"""Splitting a module by tags that its nodes carry."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node, map_arg
from fxls.engine.origins import resolve as origin
from fxls.engine.passes.split_parts import Subgraph
from fxls.engine.passes.tools_common import (
    CALLABLE_NODE_OPS,
    NodeList,
    is_node_output_tensor,
)
from fxls.engine.passes.utils.common import HolderModule, lift_subgraph_as_module

__all__ = [
    "Component",
    "getattr_recursive",
    "move_non_tensor_nodes_on_boundary",
    "setattr_recursive",
    "split_by_tags",
]


def getattr_recursive(obj: object, name: str) -> Any:
    """What a dotted path leads to; None when it leads nowhere."""
    for atom in name.split("."):
        if isinstance(obj, torch.nn.ModuleList):
            obj = obj._modules.get(atom)
        else:
            obj = getattr(obj, atom, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj: object, attr: str, value: object) -> None:
    """Set what a dotted path leads to; raises AttributeError where it leads nowhere."""
    *way, last = attr.split(".")
    for atom in way:
        obj = getattr(obj, atom)
    setattr(obj, last, value)


@dataclass
class Component:
    """One part of a graph while it is made."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list[Node])
    orig_inputs: list[Node] = field(default_factory=list[Node])
    """The nodes of the whole graph that the placeholders stand for."""
    orig_outputs: list[Node] = field(default_factory=list[Node])
    """The nodes of the whole graph that the part gives to others."""
    getattr_maps: dict[Node, Node] = field(default_factory=dict[Node, Node])
    """Reads of attributes, in the whole graph and in this one."""
    constructor_args: list[str] = field(default_factory=list[str])
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    return_tuple: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    GraphModuleCls: type[GraphModule] = GraphModule,  # noqa: N803 - FX's signature
) -> GraphModule | tuple[GraphModule, dict[str, str]]:
    """A module with one submodule per tag, which does what the nodes with that tag do.

    - A node is tagged by its attribute `tag`; all that call something must be. Reads of
      attributes go where they are used.
    - Submodules are called in the order of `tags`, so no node may use one whose tag
      comes later. They are named by their tag.
    - A submodule with one result returns it alone, unless `return_tuple` is set.
    - With `return_fqn_mapping`, returned with the paths of members: in `gm`, and in the
      result.

    `gm` stays as it is; members are shared, not copied.
    """
    refuse_foreign(gm)
    splitting = _Splitting(gm, tags, is_tuple=return_tuple)
    split = splitting.split(GraphModuleCls)
    return (split, splitting.paths) if return_fqn_mapping else split


class _Splitting:
    """One run of `split_by_tags`."""

    def __init__(self, gm: GraphModule, tags: Sequence[str], *, is_tuple: bool) -> None:
        self._gm = gm
        self._is_tuple = is_tuple
        self._parts = [Component(Graph(), i, f"{tag}") for i, tag in enumerate(tags)]
        self._part_of_tag = dict(zip(tags, self._parts, strict=True))
        self._part_of: dict[Node, Component] = {}
        self._copies: dict[Node, Node] = {}
        """Node of the whole graph to node of its part."""
        self._stand_ins: dict[tuple[int, Node], Node] = {}
        """Place of a part and node of the whole graph to the placeholder for it."""
        self._main = Graph()
        self._in_main: dict[Node, Node] = {}
        """Node of the whole graph to the node of the result that gives its value."""
        self._needed: dict[Node, None] = {}
        """The nodes whose value leaves their part."""
        self.paths: dict[str, str] = {}

    def split(self, kind: type[GraphModule]) -> GraphModule:
        output: Node | None = None
        for node in self._gm.graph.nodes:
            if node.op == "output":
                if output is not None:
                    raise RuntimeError(f"Multiple outputs in graph: {output}, {node}")
                output = node
            elif node.op == "placeholder":
                self._in_main[node] = _stand_in(self._main, node)
            elif node.op != "get_attr":
                self._assign(node)
        if output is None:
            raise RuntimeError("the graph has no output, so a split has no result")
        root = self._finish(output)
        self._main.output(map_arg(output.args[0], self._in_main.__getitem__))
        self._main.set_codegen(self._gm.graph._codegen)
        return kind(root, self._main)

    def _assign(self, node: Node) -> None:
        """Copy a node into the part of its tag."""
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node has no tag: {node.format_node()}")
        tag = cast("Any", node).tag
        part = self._part_of_tag[tag]
        for used in node.all_input_nodes:
            earlier = self._part_of.get(used)
            if earlier is not None and earlier.order > part.order:
                raise AssertionError(
                    f"{node} is tagged {part.name!r} and uses {used}, which is tagged"
                    f" {earlier.name!r}: that tag comes later"
                )
        self._part_of[node] = part
        made: Any = part.graph.node_copy(node, lambda used: self._input(part, used))
        made.tag = tag
        self._copies[node] = made

    def _input(self, part: Component, used: Node) -> Node:
        """What stands in a part for a node that it uses."""
        if used.op == "get_attr":
            if used not in part.getattr_maps:
                read = part.graph.get_attr(str(used.target), used.type)
                part.getattr_maps[used] = _noted(read, used)
            return part.getattr_maps[used]
        if self._part_of.get(used) is part:
            return self._copies[used]
        key = (part.order, used)
        if key not in self._stand_ins:
            self._stand_ins[key] = made = _stand_in(part.graph, used)
            part.orig_inputs.append(used)
            part.input_placeholders.append(made)
            self._needed[used] = None
        return self._stand_ins[key]

    def _finish(self, output: Node) -> HolderModule:
        """Give each part its results, and call it; the module that holds the parts."""
        members: dict[str, Any] = {}
        for node in output.all_input_nodes:
            if node.op == "get_attr":
                # It is read in the result itself, by the name of the node.
                read = self._main.get_attr(node.name, node.type)
                read._frames = node._frames
                self._in_main[node] = read
                members[node.name] = getattr_recursive(self._gm, str(node.target))
            else:
                self._needed[node] = None
        for node in self._needed:
            if node.op != "placeholder":
                self._part_of[node].orig_outputs.append(node)
        for part in self._parts:
            self._call(part)
        root = HolderModule({part.name: part.gm for part in self._parts})
        for name, value in members.items():
            setattr(root, name, value)
        return root

    def _call(self, part: Component) -> None:
        results = tuple(self._copies[node] for node in part.orig_outputs)
        is_alone = len(results) == 1 and not self._is_tuple
        part.graph.output(results[0] if is_alone else results)
        part.gm, paths = lift_subgraph_as_module(
            self._gm, part.graph, comp_name=part.name
        )
        self.paths.update(paths)
        inputs = tuple(self._in_main[node] for node in part.orig_inputs)
        call = self._main.call_module(part.name, inputs)
        call._frames = origin.merge(
            node._frames for node in (*part.orig_outputs, *part.graph.nodes)
        )
        for i, node in enumerate(part.orig_outputs):
            if is_alone:
                self._in_main[node] = call
            else:
                taken = self._main.call_function(operator.getitem, (call, i))
                taken._frames = node._frames
                self._in_main[node] = taken


def _stand_in(graph: Graph, node: Node) -> Node:
    """A placeholder for the value of a node of another graph."""
    return _noted(graph.placeholder(node.name, node.type), node)


def _noted(made: Node, node: Node) -> Node:
    made.meta = copy.copy(node.meta)
    made._frames = node._frames
    return made


def move_non_tensor_nodes_on_boundary(subgraphs: list[Subgraph]) -> None:
    """Move what gives no tensor behind the border of the accelerated part that it is in.

    A node moves to the one other part that uses it, with all in its part that depends
    on it, when all of that is used in these two parts alone; then what it uses may
    follow. `ShapeProp` has noted what gives tensors.
    """
    part_of = {
        node: i for i, subgraph in enumerate(subgraphs) for node in subgraph.nodes
    }
    for place, subgraph in enumerate(subgraphs):
        if subgraph.is_acc:
            _Movement(subgraphs, part_of, place).run()


class _Movement:
    """The nodes that leave one part."""

    def __init__(
        self, subgraphs: list[Subgraph], part_of: dict[Node, int], place: int
    ) -> None:
        self._subgraphs = subgraphs
        self._part_of = part_of
        self._place = place

    def run(self) -> None:
        nodes = self._subgraphs[self._place].nodes
        waiting = [node for node in nodes if self._should_leave(node)]
        seen: set[Node] = set()
        for node in waiting:  # which grows meanwhile
            if node in seen or self._part_of[node] != self._place:
                continue
            seen.add(node)
            targets = {self._part_of[user] for user in self._calls(node.users)}
            targets.discard(self._place)
            if len(targets) != 1:
                continue
            if self._move(node, targets.pop()):
                waiting += filter(self._should_leave, self._calls(node.all_input_nodes))

    def _move(self, node: Node, to: int) -> bool:
        """Move a node and what depends on it, if that leads to no third part."""
        moving: dict[Node, None] = {}
        waiting = [node]
        while waiting:
            at = waiting.pop()
            if at in moving or self._part_of[at] == to:
                continue
            if self._part_of[at] != self._place:
                return False
            moving[at] = None
            waiting.extend(self._calls(at.users))
        for moved in sorted(moving):
            self._subgraphs[self._place].nodes.remove(moved)
            self._subgraphs[to].nodes.append(moved)
            self._part_of[moved] = to
        return True

    def _should_leave(self, node: Node) -> bool:
        """Whether a node of the part gives something else than a tensor to another."""
        return (
            self._part_of[node] == self._place
            and not is_node_output_tensor(node)
            and any(self._part_of[u] != self._place for u in self._calls(node.users))
        )

    def _calls(self, nodes: Iterable[Node]) -> NodeList:
        return [
            node
            for node in nodes
            if node.op in CALLABLE_NODE_OPS and node in self._part_of
        ]
