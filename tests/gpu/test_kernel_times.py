"""How long kernels take on a GPU, beside what torch's profiler says of the same calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gpu.conftest import Run

pytestmark = pytest.mark.slow

MEASURED = """\
import json

import torch
from torch.profiler import ProfilerActivity, profile


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4096, 4096) / 64)

    def forward(self, signal):
        gate = torch.relu(signal * self.weight) + 1
        return torch.softmax(gate @ self.weight, -1)


net = torch.compile(Net().cuda())
signal = torch.randn(4096, 4096, device="cuda")
with torch.no_grad():
    for _ in range(41):
        net(signal)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(10):
            net(signal)
        torch.cuda.synchronize()
took = {}
for event in profiled.key_averages():
    name = event.key if event.key.startswith("triton") else "extern_kernels.mm"
    took[name] = took.get(name, 0) + event.self_device_time_total / 10
print(json.dumps(took))
"""

CAPTURED = """\
import torch

net = torch.compile(torch.nn.Linear(64, 64).cuda(), mode="reduce-overhead")
with torch.no_grad():
    for _ in range(10):
        net(torch.randn(8, 64, device="cuda"))
print("ran")
"""

WHY_NOT = (
    "fxls: no kernel was measured in this process: a CUDA graph ran the kernels, and the "
    "code that calls them did not run\n"
    'help: Call torch.compile without `mode="reduce-overhead"` to measure them.'
)


def test_each_kernel_takes_what_the_profiler_says(fxls: Run) -> None:
    ended = fxls(MEASURED, "run", "--times", "net.py")
    profiled = json.loads(ended.stdout)
    kernels: list[Any] = json.loads(fxls(MEASURED, "runs", "-1", "--json").stdout)[
        "kernels"
    ]

    measured = {
        one["call"].partition(":")[0]: one["seconds"] / one["calls"] * 1e6
        for one in kernels
    }

    assert measured.keys() == profiled.keys()
    assert len(measured) == 3
    for name, took in profiled.items():
        assert measured[name] == pytest.approx(took, rel=0.15, abs=10), name
    (whole,) = {one["whole_seconds"] / one["whole_calls"] for one in kernels}
    assert whole * 1e6 == pytest.approx(sum(profiled.values()), rel=0.15)


def test_kernels_in_a_cuda_graph_have_no_times_and_it_is_said(fxls: Run) -> None:
    ended = fxls(CAPTURED, "run", "--times", "net.py")
    assert (ended.returncode, ended.stdout) == (0, "ran\n")
    assert WHY_NOT in ended.stderr.replace("\r", "")
    kernels: list[Any] = json.loads(fxls(CAPTURED, "runs", "-1", "--json").stdout)[
        "kernels"
    ]
    assert {one.get("calls") or 0 for one in kernels} == {0}
