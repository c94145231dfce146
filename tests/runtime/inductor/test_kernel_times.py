"""The time of inductor's code by its lines: every line, no other function, no first call."""

from __future__ import annotations

import json
import os
import re
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
NOTHING = Spent(NAME, 0, 0.0, ())


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


def traced(_deep: int) -> int:
    return sys.gettrace() is not None


def measured(function: Callable[[int], int], times: KernelTimes) -> Any:
    return times.measured(function, function.__code__, NAME)


def test_each_line_has_its_time_and_all_together_are_that_of_the_calls() -> None:
    times = KernelTimes()
    run = measured(code, times)
    assert [run(2) for _ in range(7)] == [code(2)] * 7

    (spent,) = times.told()

    assert (spent.revision, spent.calls) == (NAME, 3)
    first = code.__code__.co_firstlineno  # from zero, that of the line behind the `def`
    assert [line - first for line, _ in spent.lines] == [0, 1, 2, 3, 4]
    assert abs(sum(took for _, took in spent.lines) - spent.seconds) < 1e-9
    loop = dict(spent.lines)[first + 3]
    assert loop > dict(spent.lines)[first + 1], "three kernels, and none"
    assert times.told() == [], "it was told"


def test_half_of_the_calls_are_timed_as_a_whole_and_nobody_looks_at_their_lines() -> (
    None
):
    times = KernelTimes()
    run = measured(traced, times)

    first, *looked = [run(0) for _ in range(65)]

    assert not first
    assert looked[:3] == [True, False, True]
    assert all(sum(looked[at : at + 2]) == 1 for at in range(0, 64, 2))
    assert len({*zip(looked[::2], looked[1::2], strict=True)}) == 2, "in no order"
    (spent,) = times.told()
    assert (spent.calls, spent.whole_calls) == (32, 32)
    assert spent.whole_seconds > 0
    assert times.nothing() == ""


@pytest.mark.parametrize("sizes", [(4, 8), (4, 8, 16), (4, 4, 8), (4, 8, 8, 8, 16)])
def test_of_batches_of_several_sizes_half_of_each_is_looked_at(
    sizes: tuple[int, ...],
) -> None:
    times = KernelTimes()

    def runs(args: list[Any]) -> bool:
        return sys.gettrace() is not None

    run = times.measured(runs, runs.__code__, NAME)
    run([4, "a tensor"])
    looked: dict[int, list[bool]] = {size: [] for size in sizes}
    for at in range(120):
        size = sizes[at % len(sizes)]
        looked[size].append(run(["a tensor", size]))

    assert {size: sum(found) * 2 for size, found in looked.items()} == {
        size: len(found) for size, found in looked.items()
    }


def test_calls_whose_sizes_come_up_once_are_looked_at_as_often_as_not() -> None:
    times = KernelTimes()
    run = measured(traced, times)
    looked = [run(size) for size in range(201)][1:]
    assert 0.4 < sum(looked) / 200 < 0.6


def test_calls_that_take_longer_in_turns_are_looked_at_alike() -> None:
    times = KernelTimes()
    run = measured(traced, times)
    looked = [run(0) for _ in range(129)][1:]
    for period in range(2, 7):
        shares = [
            sum(looked[at::period]) / len(looked[at::period]) for at in range(period)
        ]
        assert all(0.25 < share < 0.75 for share in shares), period


def test_the_first_call_is_not_counted_and_it_is_said_once_that_there_are_no_times() -> (
    None
):
    times = KernelTimes()
    measured(code, times)(1)
    assert times.told() == [NOTHING]
    assert times.told() == []
    assert times.nothing().partition("\n")[0] == (
        "no code that inductor wrote ran twice, and the first call is not measured, "
        "because it loads the kernels"
    )


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
    assert times.told() == [NOTHING]
    assert times.nothing().startswith("a debugger or another tool traced every call\n")


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
    assert times.told() == [NOTHING], "nobody saw all of a call"


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
    assert times.told() == [NOTHING]


def test_functions_of_one_listing_are_counted_together_each_without_its_first_call() -> (
    None
):
    times = KernelTimes()
    for calls in (4, 2):
        run = measured(code, times)
        assert [run(0) for _ in range(calls)] == [code(0)] * calls

    (spent,) = times.told()

    assert (spent.revision, spent.calls, spent.whole_calls) == (NAME, 3, 1)


def test_calls_of_several_threads_are_counted_together() -> None:
    times = KernelTimes()
    run = measured(code, times)
    threads = [threading.Thread(target=run, args=(1,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (spent,) = times.told()
    assert (spent.calls, spent.whole_calls) == (2, 2)


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
                ("cpp_fused_add_relu_0:1", 2),
                ("extern_kernels.mm:2", 2),
            ]
            assert {one["whole_calls"] for one in found} == {2}
            assert [one["compilations"] for one in found] == [["0/0"], ["0/0"]]
            (whole,) = {one["of_seconds"] for one in found}
            assert 0 < sum(one["seconds"] for one in found) <= whole
    printed = fxls(tmp_path, "runs", "-1").splitlines()
    at = next(at for at, one in enumerate(printed) if "forward, kernels" in one)
    words = [
        re.sub(r"^ +\d+% (\d+\.\d+ ms )?", "", line)
        for line in printed[at + 2 :]
        if not line.startswith("  looking added ")  # such small ones are not worth it
    ]
    lines = [one["line"] for one in found]
    assert re.fullmatch(
        r"  [\d.]+ ms each in 2 calls, [\d.]+ ms when nobody looks at its lines",
        printed[at + 1],
    )
    assert words[:5] == [
        f"cpp_fused_add_relu_0:1, line {lines[0]}: add, relu, from net.py:6",
        f"extern_kernels.mm:2, line {lines[1]}: mm, from net.py:7",
        "all that is no kernel",
        "",
        "time in kernels, by the lines of the program",
    ]
    assert {*words[5:]} == {"net.py:6", "net.py:7"}


RAN_ONCE = """\
no code that inductor wrote ran twice, and the first call is not measured, because it \
loads the kernels
help: Call the compiled function at least twice, with inputs of the same kind.
"""
NO_CODE = """\
inductor wrote no code that can be measured
help: It writes some for a function that is compiled by torch.compile with the default \
backend and is called; with `cpp_wrapper` there is none in Python.
"""


@pytest.mark.slow
@needs_inductor
@pytest.mark.parametrize(
    ("program", "why"),
    [
        (PROGRAM.replace("range(5)", "range(1)"), RAN_ONCE),
        (PROGRAM.replace("(Net())", "(Net(), backend='eager')"), NO_CODE),
        ("print('no torch')\n", "the program made no graph\n"),
    ],
)
def test_a_run_without_times_says_why(tmp_path: Path, program: str, why: str) -> None:
    (tmp_path / "net.py").write_text(program, "utf-8")
    (tmp_path / "pyproject.toml").touch()
    with tempfile.TemporaryDirectory() as cache:
        ended = attempted(
            *(tmp_path, "run", "--times", "net.py"), TORCHINDUCTOR_CACHE_DIR=cache
        )
    assert ended.returncode == 0
    said = f"fxls: no kernel was measured in this process: {why}"
    assert said in ended.stderr.replace("\r", "")
    if "ran twice" in why:
        printed = fxls(tmp_path, "runs", "-1").splitlines()
        assert (
            "  no times: the lines of its kernels did not run again after the first call"
            in printed
        )


def test_times_without_a_record_are_refused(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("print('ran')\n", "utf-8")
    asked = ("run", "--times", "net.py")
    for ended in (
        attempted(tmp_path, "run", "--no-record", *asked[1:]),
        attempted(tmp_path, *asked, FXLS_RECORD="0"),
    ):
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.endswith(
            "error: --times needs the record, which holds the times: leave out "
            "--no-record, or say --record where FXLS_RECORD is 0\n"
        )


def fxls(folder: Path, *arguments: str, **environment: str) -> str:
    ended = attempted(folder, *arguments, **environment)
    ended.check_returncode()
    return ended.stdout


def attempted(
    folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fxls", *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )


def test_a_time_outlives_its_record() -> None:
    entry = record.Entry(0, 1, 1.0, 2.0, Spent(NAME, 3, 0.5, ((4, 0.25),), 2, 0.3))
    assert record.decode(record.encode(entry)) == entry
