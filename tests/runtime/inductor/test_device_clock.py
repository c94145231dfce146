"""The clock of a GPU, as far as it can be tried without one: tests/gpu has the rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fxls.runtime.inductor.device_clock import Marking, Marks, clock_of


def code(wait: float) -> None:
    first = wait
    time.sleep(first)
    for _ in range(2):
        time.sleep(wait)


def test_each_line_is_marked_when_it_begins_and_no_line_of_what_it_calls() -> None:
    marks: Marks = []
    trace = Marking(code.__code__, marks, time.perf_counter, lambda: False)
    sys.settrace(trace.entered)
    try:
        code(0.001)
        code(0.001)  # the next call alone is marked
    finally:
        sys.settrace(None)

    begin = code.__code__.co_firstlineno
    lines = [line - begin if line else 0 for line, _ in marks]
    assert lines == [1, 2, 3, 4, 3, 4, 3, 0]
    assert not trace.is_captured
    times = [when for _, when in marks]
    assert times == sorted(times)
    assert times[2] - times[1] >= 0.001


class Divided:
    """Code as inductor writes it where it divides a graph for CUDA graphs."""

    def __init__(self, part: Callable[[], int]) -> None:
        self.partitions = [part]

    def call(self) -> int:
        first = self.partitions[0]()
        return first + 1


def part() -> int:
    kernel = 1
    return kernel + 1


@pytest.mark.parametrize("is_capturing", [False, True])
def test_lines_of_parts_are_marked_unless_a_cuda_graph_runs_instead(
    is_capturing: bool,
) -> None:
    marks: Marks = []
    code, begin = Divided.call.__code__, part.__code__.co_firstlineno
    trace = Marking(code, marks, time.perf_counter, lambda: is_capturing)
    runner = Divided(part)
    sys.settrace(trace.entered)
    try:
        runner.call()
    finally:
        sys.settrace(None)

    call = code.co_firstlineno
    of_part = [] if is_capturing else [begin + 1, begin + 2, call + 1]
    assert [line for line, _ in marks] == [call + 1, *of_part, call + 2, 0]
    assert trace.is_captured == is_capturing


@pytest.mark.parametrize(
    ("types", "indices", "is_on_device", "other"),
    [
        ({"cpu"}, set[int](), False, ""),
        ({"cuda"}, {1}, True, ""),
        ({"cpu", "cuda", "meta"}, {0}, True, ""),
        ({"cuda"}, {0, 1}, False, "2 GPUs"),
        ({"xpu"}, {0}, False, "xpu"),
        ({"cuda", "xpu"}, {0}, False, "cuda and xpu"),
    ],
)
def test_code_for_a_cpu_and_for_one_gpu_is_measured(
    types: set[str], indices: set[int], is_on_device: bool, other: str
) -> None:
    compiled: Any = SimpleNamespace(device_types=types, device_idxs=indices)
    clock, why = clock_of(compiled)
    assert (clock is not None) == is_on_device
    said = f"the code is for {other}, and only a CPU and one GPU are measured"
    assert why == (said if other else "")
