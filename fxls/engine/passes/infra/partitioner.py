"""Putting the nodes that a backend can run into as few parts as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from fxls.engine.graph_module import GraphModule
from fxls.engine.ir.foreign import refuse_foreign
from fxls.engine.ir.node import Node
from fxls.engine.ir.target_names import qualified_name
from fxls.engine.passes.operator_support import OperatorSupportBase
from fxls.engine.passes.tools_common import submodules_of
from fxls.engine.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

_Operations: TypeAlias = Sequence[str]
"""Functions by their qualified names."""


class Partition:
    """Nodes that are to become one submodule, each with its place from the end."""

    def __init__(
        self,
        id: int | None = None,  # noqa: A002 - FX's signature
        nodes: Iterable[Node] | None = None,
        node_orders: Iterable[int] | None = None,
    ) -> None:
        self.nodes: dict[Node, int | None] = {}
        self.id = id
        if nodes is None:
            return
        given = list(nodes)
        if node_orders is None:
            self.nodes = dict.fromkeys(given)
            return
        orders = list(node_orders)
        if len(given) != len(orders):
            raise AssertionError(
                f"{len(given)} nodes and {len(orders)} node_orders: give one for each"
            )
        self.nodes = dict(zip(given, orders, strict=True))

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Remove a node; raises KeyError when it is not there."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)

    def __repr__(self) -> str:
        return str(self.nodes)


class CapabilityBasedPartitioner:
    """Finds the parts of a graph that a backend can run, and makes submodules of them.

    - A part is as large as possible: two are joined unless something outside depends on
      one and has the other depend on it, also when they have nothing to do with each
      other (not so with `skip_horizontal_fusion`).
    - A part of one node that computes something, such as are not in `non_compute_ops`,
      is left alone, unless it is in `allowed_single_node_partition_ops` or
      `allows_single_node_partition` is set. Operations are given by qualified name.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,  # noqa: FBT001, FBT002 - FX's signature
        non_compute_ops: _Operations | None = None,
        allowed_single_node_partition_ops: _Operations | None = None,
        skip_horizontal_fusion: bool = False,  # noqa: FBT001, FBT002 - FX's signature
    ) -> None:
        refuse_foreign(graph_module)
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.skip_horizontal_fusion = skip_horizontal_fusion
        self.allows_single_node_partition = allows_single_node_partition
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.non_compute_ops = non_compute_ops or []

    def propose_partitions(self) -> list[Partition]:
        """The parts, each with its nodes in the order of the graph."""
        submodules = submodules_of(self.graph_module)
        growth = _Growth(self.graph_module)
        for order, node in enumerate(reversed(growth.nodes)):
            is_supported = self.operator_support.is_node_supported(submodules, node)
            if is_supported:
                growth.begin(node, order)
            if not self.skip_horizontal_fusion:
                growth.join(growth.all_with(node))
            elif is_supported:
                growth.join(growth.around(node))
        growth.follow_tuples()
        found = growth.partitions
        if not self.allows_single_node_partition:
            idle = {*_IDLE, *self.non_compute_ops}
            found = {i: p for i, p in found.items() if self._weight(p, idle) > 1}
        return [partition for partition in found.values() if partition.size()]

    def fuse_partitions(
        self, partitions: list[Partition], prefix: str = "fused_"
    ) -> GraphModule:
        """Make each part a submodule, called `prefix` and a number."""
        parts = [partition.nodes for partition in partitions]
        return fuse_by_partitions(self.graph_module, parts, prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take what computes nothing out of the parts, where it is at their border."""
        idle = set(self.non_compute_ops)
        before = _Border(idle, lambda node: node.all_input_nodes)
        behind = _Border(idle, lambda node: node.users)
        for partition in partitions:
            own = set(partition.nodes)
            removed: set[Node] = set()
            for node in partition.nodes:
                if _name(node) in idle and (
                    before.is_near(node, own, removed)
                    or behind.is_near(node, own, removed)
                ):
                    removed.add(node)
            for node in removed:
                partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Find the parts, and make each a submodule."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)

    def _weight(self, partition: Partition, idle: set[str]) -> int:
        """How many nodes compute; one that may be alone counts once more."""
        names = [
            qualified_name(node.target)
            for node in partition.nodes
            if node.op == "call_function"
        ]
        alone = self.allowed_single_node_partition_ops
        return sum((name not in idle) + (name in alone) for name in names)


class _Growth:
    """The parts while they grow, from the end of the graph to its begin.

    Sets of nodes and of parts are the bits of an int: whether a set reaches another is
    asked for each pair of parts, and there are as many sets as nodes.
    """

    def __init__(self, module: GraphModule) -> None:
        self.nodes = list(module.graph.nodes)
        self.partitions: dict[int, Partition] = {}
        self._of: dict[Node, int] = {}
        self._bit = {node: 1 << i for i, node in enumerate(self.nodes)}
        self._behind: list[int] = [0] * len(self.nodes)
        """Per node: all that depends on it."""
        for node in reversed(self.nodes):
            place = self._place(node)
            for user in node.users:
                self._behind[place] |= self._bit[user] | self._behind[self._place(user)]
        self._own: dict[int, int] = {}
        """Per part: its nodes."""
        self._users: dict[int, int] = {}
        """Per part: the nodes outside that use them."""
        self._reached: dict[int, int] = {}
        """Per part: the parts that depend on it, as far as was known when it changed."""
        self._first: dict[int, int] = {}
        """Per part: the part that is oldest of all that were joined."""
        self._joined: list[int] | None = None
        """The parts that were last tried, and could not be joined further."""

    def begin(self, node: Node, order: int) -> None:
        """A part of one node."""
        new = len(self._of)
        self._of[node] = self._first[new] = new
        self.partitions[new] = Partition(new, [node], [order])
        self._own[new] = self._bit[node]
        self._users[new] = users = self._union(self._bit[user] for user in node.users)
        self._reached[new] = self._parts_reached(users) & ~(1 << new)

    def all_with(self, node: Node) -> list[int]:
        """All parts, the oldest first; but in front of them the part of a node."""
        parts = dict.fromkeys(sorted(self.partitions, key=self._first.__getitem__))
        own = self._of.get(node)
        return list(parts if own is None else {own: None, **parts})

    def around(self, node: Node) -> list[int]:
        """The part of a node, and those of its users."""
        found = [self._of[one] for one in (node, *node.users) if one in self._of]
        return list(dict.fromkeys(found))

    def join(self, parts: list[int]) -> None:
        """Join the first with each of the others that it can be joined with."""
        if parts == self._joined:
            return
        is_changed = False
        merged = parts[0] if parts else -1
        for other in parts[1:]:
            kept = self._merge(merged, other)
            if kept is not None:
                merged, is_changed = kept, True
        self._joined = None if is_changed else parts

    def follow_tuples(self) -> None:
        """Sort the nodes, and let what takes a tuple apart be where the tuple is."""
        for partition in self.partitions.values():
            ordered = sorted(partition.nodes.items(), key=_order, reverse=True)
            partition.nodes = dict(ordered)
        while moves := self._moves():
            for node, to in moves.items():
                if node in self._of:
                    self.partitions[self._of[node]].remove_node(node)
                if to is None:
                    del self._of[node]
                else:
                    self._of[node] = to
                    self.partitions[to].add_node(node)

    def _moves(self) -> dict[Node, int | None]:
        moves: dict[Node, int | None] = {}
        for node in self.nodes:
            if all(_name(user) == "_operator.getitem" for user in node.users):
                to = self._of.get(node)
                moves.update(
                    (user, to) for user in node.users if self._of.get(user) != to
                )
        return moves

    def _merge(self, one: int, other: int) -> int | None:
        """Make two parts one, the smaller joining the larger; None when it cannot be."""
        own = self._own[one] | self._own[other]
        users = (self._users[one] | self._users[other]) & ~own
        behind = self._behind_all(users)
        pair = 1 << one | 1 << other
        if behind & own or any(
            self._reached[part] & pair for part in self._parts(behind)
        ):
            return None
        kept, gone = one, other
        if self.partitions[one].size() < self.partitions[other].size():
            kept, gone = other, one
        moved = self.partitions.pop(gone).nodes
        self.partitions[kept].nodes.update(moved)
        self._of.update(dict.fromkeys(moved, kept))
        self._first[kept] = min(self._first[kept], self._first.pop(gone))
        self._own[kept], self._users[kept] = own, users
        del self._own[gone], self._users[gone]
        reached = self._reached[kept] | self._reached.pop(gone)
        self._reached[kept] = (reached | self._parts_reached(users)) & ~pair
        return kept

    def _place(self, node: Node) -> int:
        return self._bit[node].bit_length() - 1

    def _union(self, sets: Iterable[int]) -> int:
        union = 0
        for one in sets:
            union |= one
        return union

    def _behind_all(self, nodes: int) -> int:
        """Some nodes, and all that depends on them."""
        union = nodes
        while nodes:
            lowest = nodes & -nodes
            union |= self._behind[lowest.bit_length() - 1]
            nodes ^= lowest
        return union

    def _parts(self, nodes: int) -> Iterator[int]:
        """The parts that some nodes are in."""
        return (part for part, own in self._own.items() if own & nodes)

    def _parts_reached(self, users: int) -> int:
        behind = self._behind_all(users)
        return self._union(1 << p | self._reached[p] for p in self._parts(behind))


class _Border:
    """What is at the border of a part, in one direction.

    Nothing that computes lies between it and what is outside.
    """

    def __init__(
        self, idle: set[str], neighbours: Callable[[Node], Iterable[Node]]
    ) -> None:
        self._idle = idle
        self._neighbours = neighbours
        self._known: dict[Node, bool] = {}

    def is_near(self, node: Node, own: set[Node], removed: set[Node]) -> bool:
        """Whether all neighbours of a node are outside, or near in their turn."""
        waiting = [node]
        while waiting:
            at = waiting[-1]
            if self._answer(at, own, removed) is None:
                answers = {
                    one: self._answer(one, own, removed) for one in self._neighbours(at)
                }
                unknown = [one for one, answer in answers.items() if answer is None]
                if unknown and False not in answers.values():
                    waiting.append(unknown[0])
                    continue
                self._known[at] = all(answers.values())
            waiting.pop()
        return bool(self._answer(node, own, removed))

    def _answer(self, node: Node, own: set[Node], removed: set[Node]) -> bool | None:
        if node.op == "placeholder" or node not in own or node in removed:
            return True
        return self._known.get(node, None if _name(node) in self._idle else False)


_IDLE = ("torch.ops.aten.view", "_operator.getitem")
"""What computes nothing that would be worth a submodule."""


def _name(node: Node) -> str | None:
    return qualified_name(node.target) if node.op == "call_function" else None


def _order(item: tuple[Node, int | None]) -> int:
    assert item[1] is not None, "every node has its place until tuples are followed"
    return item[1]
