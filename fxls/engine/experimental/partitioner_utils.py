"""Parts of a graph that run on devices: what memory and what time each of them takes."""

from __future__ import annotations

import enum
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

from fxls.engine.ir.node import Node

__all__ = [
    "Device",
    "NodeLatency",
    "Partition",
    "PartitionLatency",
    "PartitionMode",
    "PartitionerConfig",
    "get_comm_latency_between",
    "get_extra_size_of",
    "get_latency_of_one_partition",
    "get_latency_of_partitioned_graph",
    "get_partition_to_latency_mapping",
]

_GIVEN = frozenset({"placeholder", "get_attr"})
"""Opcodes of values that are there before anything is computed."""


class Partition:
    """The nodes of one part, the parts around it, and the devices that it is for."""

    def __init__(self, partition_id: int) -> None:
        self.partition_id = partition_id
        self.nodes: set[Node] = set()
        self.parents: set[Partition] = set()
        self.children: set[Partition] = set()
        self.bfs_level = -1
        self.used_mem_bytes = 0
        self.logical_device_ids: list[int] = []

    def __str__(self) -> str:
        return str(self.partition_id)

    def recalculate_mem_size(self) -> None:
        """Let `used_mem_bytes` be what the nodes need that are in the part."""
        needed = [get_extra_size_of(node, self.nodes) for node in self.nodes]
        self.used_mem_bytes = sum(needed)

    def add_node(self, node: Node) -> None:
        """Take a node, and with it what is given and that it uses."""
        self.nodes |= {used for used in node.all_input_nodes if used.op in _GIVEN}
        self.nodes.add(node)
        self.recalculate_mem_size()

    def remove_node(self, node: Node) -> None:
        """Leave a node out, and with it what is given and that nothing else uses here."""
        if node not in self.nodes:
            return
        self.nodes.remove(node)
        self.nodes -= {
            used
            for used in node.all_input_nodes
            if used.op in _GIVEN and self.nodes.isdisjoint(used.users)
        }
        self.recalculate_mem_size()


Device = NamedTuple(  # noqa: UP014 - as short as its fields
    "Device", [("name", str), ("available_mem_bytes", int), ("logical_id", int)]
)
"""What computes: its free memory, and the number by which parts name it."""

NodeLatency = NamedTuple(  # noqa: UP014 - as short as its fields
    "NodeLatency", [("mem_latency_sec", float), ("computer_latency_sec", float)]
)
"""The seconds that a node needs for memory, and for computing."""

PartitionLatency = NamedTuple(  # noqa: UP014 - as short as its fields
    "PartitionLatency",
    [
        ("mem_latency_sec", float),
        ("computer_latency_sec", float),
        ("overall_latency_sec", float),
    ],
)
"""The seconds of the longest way through a part; together, the longer one of each node."""

PartitionMode = enum.Enum(
    "PartitionMode",
    ["size_based", "sparse_nn", "cost_aware", "kl_based", "aot_based"],
    start=0,
)
"""By what parts are chosen."""


NodeTimes: TypeAlias = dict[Node, NodeLatency]
Places: TypeAlias = dict[Node, int]
Devices: TypeAlias = dict[int, list[int]]

_NO_TIMES: NodeTimes = {}
_NO_PLACES: Places = {}
_NO_DEVICES: Devices = {}


class PartitionerConfig(NamedTuple):
    """What a partitioner is to heed."""

    devices: list[Device]
    mode: PartitionMode = PartitionMode.size_based
    transfer_rate_bytes_per_sec: float = 0.0
    """Between devices."""
    node_to_latency_mapping: NodeTimes = _NO_TIMES
    """For parts that are chosen by their time."""
    node_to_partition_mapping: Places = _NO_PLACES
    """For parts that are given."""
    partition_to_logical_device_mapping: Devices = _NO_DEVICES
    """The devices of given parts."""
    saturate_host: bool = False
    """Whether parts are there several times, until no device is free."""


def get_extra_size_of(node: Node, nodes: AbstractSet[Node]) -> int:
    """The bytes that a node needs beside `nodes`: its own, and of inputs not in there.

    `graph_manipulation.get_size_of_all_nodes` notes the sizes; RuntimeError without.
    """
    outside = [used for used in node.all_input_nodes if used not in nodes]
    sizes = [_size(used).output_size for used in outside]
    return sum(sizes) + _size(node).total_size


def _size(node: Node) -> Any:
    size = getattr(node, "size_bytes", None)
    if not size:
        raise RuntimeError(
            f"node {node} has no size_bytes: call get_size_of_all_nodes first"
        )
    return size


def get_latency_of_one_partition(
    partition: Partition, node_to_latency_mapping: dict[Node, NodeLatency]
) -> PartitionLatency:
    """The way through a part that takes the longest."""
    nothing = PartitionLatency(0.0, 0.0, 0.0)
    longest: dict[Node, PartitionLatency] = {}
    # Nodes are compared by their place in the graph: what a node uses comes before it.
    for node in sorted(partition.nodes):
        if node.op in _GIVEN:
            continue
        before = [longest[used] for used in node.all_input_nodes if used in longest]
        so_far = max(before, key=_overall, default=nothing)
        memory, computing = node_to_latency_mapping[node]
        longest[node] = PartitionLatency(
            so_far.mem_latency_sec + memory,
            so_far.computer_latency_sec + computing,
            so_far.overall_latency_sec + max(memory, computing),
        )
    ends = [longest[n] for n in longest if partition.nodes.isdisjoint(n.users)]
    return max(ends, key=_overall, default=nothing)


def _overall(latency: PartitionLatency) -> float:
    return latency.overall_latency_sec


def get_partition_to_latency_mapping(
    partitions: list[Partition], node_to_latency_mapping: dict[Node, NodeLatency]
) -> dict[Partition, PartitionLatency]:
    """The longest way through each part."""
    return {
        one: get_latency_of_one_partition(one, node_to_latency_mapping)
        for one in partitions
    }


def get_comm_latency_between(
    parent_partition: Partition,
    child_partition: Partition,
    transfer_rate_bytes_per_sec: float,
) -> float:
    """The seconds in which values go from one part to another; none on one device."""
    devices = parent_partition.logical_device_ids
    if devices and devices == child_partition.logical_device_ids:
        return 0.0
    used = {value for node in child_partition.nodes for value in node.all_input_nodes}
    sizes = [
        getattr(value, "size_bytes", None) for value in used & parent_partition.nodes
    ]
    moved = sum(size.output_size for size in sizes if size is not None)
    return moved / transfer_rate_bytes_per_sec


def get_latency_of_partitioned_graph(
    partitions: list[Partition],
    partition_to_latency_mapping: dict[Partition, PartitionLatency],
    transfer_rate_bytes_per_sec: float,
) -> float:
    """The seconds of the longest way through parts that have been made, from any start."""
    rest: dict[Partition, float] = {}

    def from_here(part: Partition) -> float:
        if part not in rest:
            onwards = [
                get_comm_latency_between(part, child, transfer_rate_bytes_per_sec)
                + from_here(child)
                for child in part.children
            ]
            own = partition_to_latency_mapping[part].overall_latency_sec
            rest[part] = own + max(onwards, default=0.0)
        return rest[part]

    starts = [part for part in partitions if not part.parents]
    return max(map(from_here, starts), default=0.0)
