"""What is not a ratio of two times: memory, the start, how deep and how fast it grows."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from benchmarks import models
from benchmarks.cases import cases, growing
from benchmarks.floors import GROWING
from benchmarks.measure import Prepare, exponent, seconds
from benchmarks.packages import Fx

__all__ = [
    "Growth",
    "bytes_per_node",
    "collector_shares",
    "deepest",
    "growths",
    "import_seconds",
]


def collector_shares(fx: Fx, runs: int) -> dict[str, float]:
    """How much of an operation's time is the cyclic collector's, which it causes."""
    rows = {(case.operation, case.on): case for case in cases()}
    return {
        f"{operation}, {on}": statistics.median(
            _collector_share(rows[operation, on].prepare(fx)) for _ in range(runs)
        )
        for operation, on in _COLLECTED
    }


_COLLECTED = (
    ("Tracer().trace", "chain 10k"),
    ("Tracer().trace", "GPT-2, 48 layers"),
    ("Graph.call_function", "100k calls"),
    ("graph_copy", "GPT-2, 48 layers"),
    ("Transformer.transform", "GPT-2, 48 layers"),
    ("insert", "chain 10k"),
)


def _collector_share(prepare: Prepare) -> float:
    run = prepare()
    began = took = 0.0

    def watch(phase: str, _info: dict[str, int]) -> None:
        nonlocal began, took
        if phase == "start":
            began = time.process_time()
        else:
            took += time.process_time() - began

    gc.collect()
    gc.callbacks.append(watch)
    start = time.process_time()
    run()
    whole = time.process_time() - start
    gc.callbacks.remove(watch)
    return took / whole


def bytes_per_node(fx: Fx, nodes: int = 10_000) -> float:
    """What a traced graph keeps, for each of its nodes."""
    model = models.Chain(nodes)
    fx.Tracer().trace(model)  # what is made once for the process
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    graph = fx.Tracer().trace(model)
    gc.collect()
    took = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return took / len(graph.nodes)


def import_seconds(runs: int) -> float:
    """The CPU time of importing the engine behind torch, in a new process.

    The collector has just collected, as before every timing: what it would walk first
    is what the import of torch made, which takes 2 to 7 ms.
    """
    program = (
        "import gc, time, torch; gc.collect(); began = time.process_time();"
        "import fxls.engine; print(time.process_time() - began)"
    )
    command = [sys.executable, "-c", program]
    with tempfile.TemporaryDirectory() as folder:
        # Compiled files as an installed package has them, wherever this one lies.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        took = [
            float(
                subprocess.run(
                    command, capture_output=True, check=True, env=environment
                ).stdout
            )
            for _ in range(runs + 1)
        ]
    return statistics.median(took[1:])


def deepest(fx: Fx) -> int:
    """How deep modules can lie in one another, under the usual recursion limit.

    In a thread of its own, whose stack is empty but for that.
    """
    found: list[int] = []

    def search() -> None:
        low, high = 50, 400
        while high - low > 1:
            depth = (low + high) // 2
            try:
                fx.Tracer().trace(models.Nested(depth))
            except RecursionError:
                high = depth
            else:
                low = depth
        found.append(low)

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    sys.setrecursionlimit(before)
    return found[0]


class Growth(NamedTuple):
    """How the time of an operation grows with the graph."""

    exponent: float
    times: tuple[float, ...]
    """The seconds at each size."""
    floor: float | None
    """The exponent of its floor, where that is measured."""


def growths(fx: Fx, sizes: Sequence[int], runs: int) -> dict[str, Growth]:
    """The growth of each operation."""
    return {
        operation: _growth(partial(make, fx), GROWING.get(operation), sizes, runs)
        for operation, make in growing().items()
    }


def _growth(
    make: Callable[[int], Prepare],
    floor: Callable[[int], Prepare] | None,
    sizes: Sequence[int],
    runs: int,
) -> Growth:
    times = _times(make, sizes, runs)
    least = None if floor is None else exponent(sizes, _times(floor, sizes, runs))
    return Growth(exponent(sizes, times), tuple(times), least)


def _times(
    make: Callable[[int], Prepare], sizes: Sequence[int], runs: int
) -> list[float]:
    times: list[float] = []
    for size in sizes:
        prepare = make(size)
        loops = max(1, sizes[0] // size)
        times.append(min(seconds(prepare(), loops) for _ in range(runs)))
    return times
