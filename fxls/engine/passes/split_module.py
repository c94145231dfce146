"""Splitting a module into submodules by a function that says where each node goes."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from fxls.engine.graph import Graph
from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node, map_arg
from fxls.engine.module import attributes
from fxls.engine.origins import resolve as origin
from fxls.engine.passes.modes import Modes
from fxls.engine.passes.split_partition import Partition
from fxls.engine.passes.symbols import Symbols

__all__ = ["Partition", "split_module", "split_module_simple"]

_NumberOf: TypeAlias = Callable[[Node], int]

_Switch: TypeAlias = bool | None
"""None is off."""


def split_module(
    m: GraphModule,
    root_m: torch.nn.Module,
    split_callback: _NumberOf,
    qualname_map: dict[str, str] | None = None,
    keep_original_order: _Switch = False,  # noqa: FBT002 - FX's signature
    keep_original_node_name: _Switch = False,  # noqa: FBT002 - FX's signature
    keep_original_input_name: bool = True,  # noqa: FBT001, FBT002 - FX's signature
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module with one submodule ``submod_N`` for each number that the callback gives.

    - `split_callback` is called with every node that computes something. What depends on
      each other in a circle cannot be split so: RuntimeError.
    - Parameters and other values are read outside, and given to the submodules that use
      them; they and the submodules are shared with `m`, which stays as it is. `root_m`
      is not used.
    - `qualname_map` gets, for what is in a submodule, new path to old path.
    - The submodules are called in an order that their values allow; with
      `keep_original_order` in that of their first nodes.
    - `keep_original_node_name` keeps the names of nodes, `keep_original_input_name` (set
      to False, inputs are ``arg_N``) those of what goes into a submodule.
    - `partition_affix` goes into the names: ``submod_<affix>_N``.
    - `tuple_return` makes a submodule with one result return it in a tuple.
    - Autocast and grad mode that are switched in the graph are switched in each part
      that they reach into; the numbers must not fall then: AssertionError.
    """
    refuse_foreign(m)
    splitting = _Splitting(
        m,
        split_callback,
        {} if qualname_map is None else qualname_map,
        affix=partition_affix,
        keeps_order=bool(keep_original_order),
        keeps_names=bool(keep_original_node_name),
        keeps_input_names=keep_original_input_name,
        is_tuple=tuple_return,
        isolates_modes=True,
    )
    split = splitting.split()
    split.meta["partition_names"] = splitting.submodule_names()
    return split


class _Splitting:
    """One run of `split_module`."""

    def __init__(
        self,
        module: GraphModule,
        number_of: _NumberOf,
        paths: dict[str, str],
        *,
        affix: str | None,
        keeps_order: bool,
        keeps_names: bool,
        keeps_input_names: bool,
        is_tuple: bool,
        isolates_modes: bool,
    ) -> None:
        self._module = module
        self._nodes = list(module.graph.nodes)
        self._number_of = number_of
        self._paths = paths
        self._affix = affix
        self._keeps_order = keeps_order
        self._keeps_names = keeps_names
        self._keeps_input_names = keeps_input_names
        self._is_tuple = is_tuple
        self._isolates_modes = isolates_modes
        self._by_name = {node.name: node for node in self._nodes}
        self._partitions: dict[str, Partition] = {}
        self._part_of: dict[Node, Partition] = {}
        self._symbols = Symbols()
        self._base = Graph()
        self._in_base: dict[str, Node] = {}
        """Name of a node to the node of the result that gives its value."""
        self._members: dict[str, Any] = {}

    def split(self) -> GraphModule:
        modes = self._assign()
        self._connect(modes)
        first_seen = list(self._partitions.values())
        ordered = self._ordered()
        modes.enter(self._numbered)
        for partition in ordered:
            self._add_inputs(partition)
        for node, partition in self._part_of.items():
            self._copy(node, partition)
        modes.leave(self._numbered)
        return self._assemble(first_seen if self._keeps_order else ordered)

    def submodule_names(self) -> set[str]:
        return {partition.submod_name for partition in self._partitions.values()}

    def _assign(self) -> Modes:
        """Ask for the part of each node."""
        modes = Modes()
        for node in self._nodes:
            self._symbols.note(node)
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            number = self._number_of(node)
            name = self._name(number)
            partition = self._partitions.setdefault(name, Partition(name))
            partition.node_names.append(node.name)
            self._part_of[node] = partition
            if self._isolates_modes:
                modes.note(node, number)
        modes.check()
        return modes

    def _connect(self, modes: Modes) -> None:
        """Find what each part takes from others."""
        for node in self._nodes:
            if node.op == "output":
                for used in node.all_input_nodes:
                    self._use(used, None)
            elif node in self._part_of and not modes.is_switch(node):
                for used in node.all_input_nodes:
                    self._use(used, self._part_of[node])

    def _use(self, used: Node, by: Partition | None) -> None:
        source = self._part_of.get(used)
        if source is by:
            return
        if source is not None:
            source.outputs.setdefault(used.name)
            if by is not None:
                source.dependents.setdefault(by.name)
        if by is None:
            return
        by.inputs.setdefault(used.name)
        for symbol in self._symbols.needed_by(used):
            by.inputs.setdefault(symbol.name)
            holder = self._part_of.get(symbol)
            if holder is not None:
                holder.outputs.setdefault(symbol.name)
                holder.dependents.setdefault(by.name)
                by.dependencies.setdefault(holder.name)
        if source is not None:
            by.dependencies.setdefault(source.name)

    def _ordered(self) -> list[Partition]:
        """The parts in an order in which values come before their uses."""
        ready = [p for p in self._partitions.values() if not p.dependencies]
        ordered: list[Partition] = []
        while ready:
            partition = ready.pop()
            ordered.append(partition)
            for name in partition.dependents:
                later = self._partitions[name]
                if partition.name in later.dependencies:
                    del later.dependencies[partition.name]
                    if not later.dependencies:
                        ready.append(later)
        if len(ordered) != len(self._partitions):
            stuck = [p.submod_name for p in self._partitions.values() if p.dependencies]
            raise RuntimeError(
                "cycle exists between partitions! These use each other's values, or those"
                f" of parts that do: {', '.join(stuck)}"
            )
        return ordered

    def _name(self, number: int) -> str:
        return str(number) if self._affix is None else f"{self._affix}_{number}"

    def _numbered(self, number: int) -> Partition:
        return self._partitions[self._name(number)]

    def _add_inputs(self, partition: Partition) -> None:
        """Give a part placeholders for what it takes; modules it reads for itself."""
        taken: dict[str, None] = {}
        read: list[Node] = []
        for name in partition.inputs:
            node = self._by_name[name]
            if node.op == "get_attr" and isinstance(
                self._attribute(node), torch.nn.Module
            ):
                read.append(node)
                continue
            own = name if self._keeps_input_names else f"arg_{len(taken)}"
            taken[name] = None
            partition.environment[node] = _like(
                node, partition.graph.placeholder(own, node.type)
            )
        for node in read:
            path = str(node.target)
            partition.targets[path] = self._attribute(node)
            partition.environment[node] = _like(node, partition.graph.get_attr(path))
        partition.inputs = taken

    def _copy(self, node: Node, partition: Partition) -> None:
        environment = partition.environment
        target = node.target
        if node.op == "call_module":
            path = str(target)
            target = path.replace(".", "_")
            partition.targets[target] = self._attribute(node)
            self._paths[f"{partition.submod_name}.{target}"] = path
        made = partition.graph.create_node(
            node.op,
            target,
            map_arg(node.args, environment.__getitem__),
            map_arg(node.kwargs, environment.__getitem__),
            node.name if self._keeps_names else None,
            node.type,
        )
        environment[node] = _like(node, made)

    def _assemble(self, partitions: Sequence[Partition]) -> GraphModule:
        """The module that calls the parts."""
        inputs = [node for node in self._nodes if node.op == "placeholder"]
        for node in inputs if self._keeps_order else self._nodes:
            self._add_to_base(node)
        for partition in partitions:
            if self._keeps_order:
                for name in partition.inputs:
                    self._add_to_base(self._by_name[name])
            self._call(partition)
        for node in self._nodes:
            if node.op == "output":
                if self._keeps_order:
                    for used in node.all_input_nodes:
                        self._add_to_base(used)
                self._base.output(
                    map_arg(node.args[0], lambda used: self._in_base[used.name])
                )
        return GraphModule(self._members, self._base)

    def _add_to_base(self, node: Node) -> None:
        """Let the result have an input or attribute of the whole graph, once."""
        if node.name in self._in_base:
            return
        if node.op == "placeholder":
            default = node.args[0] if node.args else inspect.Signature.empty
            made = self._base.placeholder(
                node.name if self._keeps_names else str(node.target),
                node.type,
                default,
            )
        elif node.op == "get_attr":
            made = self._base.get_attr(str(node.target))
            self._members[str(node.target)] = self._attribute(node)
        else:
            return
        self._in_base[node.name] = _like(node, made)

    def _call(self, partition: Partition) -> None:
        results = [self._by_name[name] for name in partition.outputs]
        values = tuple(partition.environment[node] for node in results)
        is_alone = len(values) == 1 and not self._is_tuple
        partition.graph.output(values[0] if is_alone else values)
        self._members[partition.submod_name] = GraphModule(
            partition.targets, partition.graph
        )
        inputs = tuple(self._in_base[name] for name in partition.inputs)
        call = self._base.call_module(partition.submod_name, inputs)
        call._frames = origin.merge(
            node._frames
            for node in (*results, *partition.environment)
            if node in self._part_of and self._part_of[node] is partition
        )
        for i, node in enumerate(results):
            value = call
            if not is_alone:
                value = self._base.call_function(operator.getitem, (call, i))
                value._frames = node._frames
            self._in_base[node.name] = value

    def _attribute(self, node: Node) -> Any:
        try:
            return attributes.fetch(self._module, str(node.target))
        except AttributeError as error:
            raise AttributeError(
                f"Node target {node.target} not found! {node.format_node()}: {error}"
            ) from error


def split_module_simple(
    m: GraphModule,
    node_to_partition: dict[Node, int],
    *,
    partition_affix: str | None = None,
) -> GraphModule:
    """`split_module` for graphs that read no attributes and call no submodules.

    - `node_to_partition` has the part of every node that computes something.
    - The parts are called in the order of their first nodes; one with one result returns
      it alone. Autocast and grad mode are nodes like others.
    """
    splitting = _Splitting(
        m,
        node_to_partition.__getitem__,
        {},
        affix=partition_affix,
        keeps_order=True,
        keeps_names=False,
        keeps_input_names=True,
        is_tuple=False,
        isolates_modes=False,
    )
    return splitting.split()


def _like(node: Node, made: Node) -> Node:
    """Note on a node what is known of the one that it stands for."""
    made.meta = node.meta.copy()
    made._frames = node._frames
    return made
