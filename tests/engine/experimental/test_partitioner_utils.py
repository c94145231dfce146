# Two systems whose types have nothing in common, reached by their names.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Memory and time of the parts of random graphs are those that torch.fx computes."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch

SYSTEMS = ("torch.fx", "fxls.engine")


def parts_of(system: str, seed: int) -> tuple[Any, list[Any], dict[Any, Any]]:
    """The module with the functions, random parts of a random graph, and node times."""
    random = Random(seed)
    fx: Any = importlib.import_module(system)
    utils: Any = importlib.import_module(f"{system}.experimental.partitioner_utils")
    sizes: Any = importlib.import_module(f"{system}.passes.graph_manipulation")
    graph = fx.Graph()
    values = [graph.placeholder("x"), graph.placeholder("y")]
    for _ in range(random.randint(4, 12)):
        a, b = random.choice(values), random.choice(values)
        values.append(graph.call_function(torch.add, (a,), {"other": b}))
    graph.output(values[-1])
    module = fx.GraphModule({}, graph)
    sizes.get_size_of_all_nodes(module, [torch.ones(2), torch.ones(3, 2)])
    computed = values[2:]
    times = {
        node: utils.NodeLatency(random.random(), random.random()) for node in computed
    }
    parts: list[Any] = []
    per_part = random.randint(1, 4)
    for start in range(0, len(computed), per_part):
        part = utils.Partition(len(parts))
        for node in computed[start : start + per_part]:
            part.add_node(node)
        if parts:
            part.parents.add(parts[-1])
            parts[-1].children.add(part)
        part.logical_device_ids = random.choice(([], [0], [1]))
        parts.append(part)
    return utils, parts, times


def seen(system: str, seed: int) -> list[object]:
    utils, parts, times = parts_of(system, seed)
    latencies = utils.get_partition_to_latency_mapping(parts, times)
    found: list[object] = [str(parts[0]), *map(tuple, latencies.values())]
    found += [part.used_mem_bytes for part in parts]
    found += [
        utils.get_comm_latency_between(a, b, 8.0) for a, b in itertools.pairwise(parts)
    ]
    found.append(utils.get_latency_of_partitioned_graph(parts, latencies, 8.0))
    for part in parts:
        latency = utils.get_latency_of_one_partition(part, times)
        assert latency == utils.PartitionLatency(*latencies[part])
        part.used_mem_bytes = 0
        part.recalculate_mem_size()
        found.append(part.used_mem_bytes)
        part.remove_node(min(part.nodes & times.keys()))
        found += [sorted(map(str, part.nodes)), part.used_mem_bytes]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_random_parts_take_what_torch_fx_says(seed: int) -> None:
    theirs, ours = (seen(system, seed) for system in SYSTEMS)

    for a, b in zip(theirs, ours, strict=True):
        expected: Any = b
        assert a == (pytest.approx(expected) if isinstance(b, float | tuple) else b)


def test_settings_are_those_of_torch_fx() -> None:
    told: list[str] = []
    for system in SYSTEMS:
        utils: Any = importlib.import_module(f"{system}.experimental.partitioner_utils")
        config: Callable[..., Any] = utils.PartitionerConfig
        told.append(
            f"{config([utils.Device('gpu', 100, 0)])} {list(utils.PartitionMode)}"
        )

    assert told[0] == told[1]


def test_a_node_without_a_size_is_an_error() -> None:
    for system in SYSTEMS:
        fx: Any = importlib.import_module(system)
        utils: Any = importlib.import_module(f"{system}.experimental.partitioner_utils")

        with pytest.raises(RuntimeError, match="has no size_bytes"):
            utils.get_extra_size_of(fx.Graph().placeholder("x"), set())
