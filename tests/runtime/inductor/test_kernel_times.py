"""The time of inductor's code by its lines: every line, no other function, no first call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from fxls import record
from fxls.listing import Identity
from fxls.record import RevisionName, Spent
from fxls.runtime.inductor.kernel_times import KernelTimes
from tests.support.programs import needs_inductor

NAME = RevisionName(Identity("net", "Net", stage="graph 0, kernels"), "Net_1.py")


def kernel(deep: int) -> int:
    """What the code calls: its own lines are no lines of the code."""
    total = sum(range(20_000))
    return total if not deep else kernel(deep - 1)


def code(deep: int) -> int:
    first = kernel(deep)
    second = 0
    for _ in range(3):
        second += kernel(deep)
    return first + second


def fails(deep: int) -> int:
    kernel(deep)
    raise ValueError("no")


def measured(function: Callable[[int], int], times: KernelTimes) -> Any:
    return times.measured(function, function.__code__, NAME)


def test_each_line_has_its_time_and_all_together_are_that_of_the_calls() -> None:
    times = KernelTimes()
    run = measured(code, times)
    assert [run(2) for _ in range(4)] == [code(2)] * 4

    (spent,) = times.told()

    assert (spent.revision, spent.calls) == (NAME, 3)
    first = code.__code__.co_firstlineno  # from zero, that of the line behind the `def`
    assert [line - first for line, _ in spent.lines] == [0, 1, 2, 3, 4]
    assert abs(sum(took for _, took in spent.lines) - spent.seconds) < 1e-9
    loop = dict(spent.lines)[first + 3]
    assert loop > dict(spent.lines)[first + 1], "three kernels, and none"
    assert times.told() == [], "it was told"


def test_the_first_call_is_not_counted() -> None:
    times = KernelTimes()
    measured(code, times)(1)
    assert times.told() == []


def test_a_call_that_raises_is_measured_and_raises() -> None:
    times = KernelTimes()
    run = measured(fails, times)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            run(1)
    (spent,) = times.told()
    assert spent.calls == 1
    assert sys.gettrace() is None


def test_a_debugger_keeps_its_trace_function() -> None:
    times = KernelTimes()
    run = measured(code, times)
    seen: list[str] = []

    def debugger(frame: FrameType, _event: str, _argument: object) -> None:
        seen.append(frame.f_code.co_name)

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        assert (run(0), run(0)) == (code(0), code(0))
    finally:
        sys.settrace(before)
    assert "code" in seen
    assert times.told() == []


def test_a_debugger_that_comes_during_a_call_stays() -> None:
    def debugger(frame: FrameType, _event: str, _argument: object) -> None:
        del frame

    def stops(deep: int) -> int:
        sys.settrace(debugger)
        return deep

    times = KernelTimes()
    run = measured(stops, times)
    before = sys.gettrace()
    sys.settrace(None)
    try:
        assert run(0) == 0
        assert sys.gettrace() is debugger
        sys.settrace(None)
        assert run(1) == 1
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)
    assert times.told() == [], "nobody saw all of a call"


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="Python 3.12 has it first")
def test_nothing_is_measured_under_a_debugger_that_needs_no_trace_function() -> None:
    monitoring: Any = vars(sys)["monitoring"]
    times = KernelTimes()
    run = measured(code, times)
    monitoring.use_tool_id(monitoring.DEBUGGER_ID, "debugger")
    try:
        assert (run(0), run(0)) == (code(0), code(0))
    finally:
        monitoring.free_tool_id(monitoring.DEBUGGER_ID)
    assert times.told() == []


def test_functions_of_one_listing_are_counted_together_each_without_its_first_call() -> (
    None
):
    times = KernelTimes()
    for calls in (3, 2):
        run = measured(code, times)
        assert [run(0) for _ in range(calls)] == [code(0)] * calls

    (spent,) = times.told()

    assert (spent.revision, spent.calls) == (NAME, 3)


def test_calls_of_several_threads_are_counted_together() -> None:
    times = KernelTimes()
    run = measured(code, times)
    threads = [threading.Thread(target=run, args=(1,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (spent,) = times.told()
    assert spent.calls == 4


PROGRAM = """\
import torch


class Net(torch.nn.Module):
    def forward(self, signal):
        sums = torch.relu(signal + 1)
        return sums.t() @ signal


compiled = torch.compile(Net())
with torch.no_grad():
    for _ in range(5):
        compiled(torch.ones(4, 4))
"""


@pytest.mark.slow
@needs_inductor
def test_a_run_says_the_time_of_each_kernel_and_of_each_line(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "pyproject.toml").touch()
    found: list[Any] = []
    # Not below the folder, which may have a blank: inductor could not build there.
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):  # the second run takes the code from the cache
            fxls(tmp_path, "run", "--times", "net.py", TORCHINDUCTOR_CACHE_DIR=cache)
            found = json.loads(fxls(tmp_path, "runs", "-1", "--json"))["kernels"]
            assert [(one["call"], one["calls"]) for one in found] == [
                ("cpp_fused_add_relu_0:1", 4),
                ("extern_kernels.mm:2", 4),
            ]
            (whole,) = {one["of_seconds"] for one in found}
            assert 0 < sum(one["seconds"] for one in found) <= whole
    printed = fxls(tmp_path, "runs", "-1").splitlines()
    at = next(at for at, one in enumerate(printed) if "forward, kernels" in one)
    words = [line.split("%")[-1].strip() for line in printed[at + 2 :]]
    lines = [one["line"] for one in found]
    assert printed[at + 1].endswith(" ms each in 4 calls")
    assert words[:5] == [
        f"cpp_fused_add_relu_0:1, line {lines[0]}: add, relu, from net.py:6",
        f"extern_kernels.mm:2, line {lines[1]}: mm, from net.py:7",
        "all that is no kernel",
        "",
        "time in kernels, by the lines of the program",
    ]
    assert {*words[5:]} == {"net.py:6", "net.py:7"}


def fxls(folder: Path, *arguments: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "fxls", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    ).stdout


def test_a_time_outlives_its_record() -> None:
    entry = record.Entry(0, 1, 1.0, 2.0, Spent(NAME, 3, 0.5, ((4, 0.25),)))
    assert record.decode(record.encode(entry)) == entry
