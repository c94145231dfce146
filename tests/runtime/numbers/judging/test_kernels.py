"""The code that inductor writes is judged by the values that it has while it runs."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from torch import nn

from fxls.runtime.numbers.graphs import ReplayedGraph
from tests.runtime.numbers.looking import COMPILING, Numbers, blamed, config

pytestmark = COMPILING


metrics: Any = importlib.import_module("torch._inductor.metrics")
dynamo: Any = importlib.import_module("torch._dynamo.utils")


def counted_by_torch() -> dict[str, int]:
    """What torch itself counts of compilations of this process."""
    counters = dynamo.counters
    return {
        "frames": counters["frames"]["total"],
        "graphs": counters["stats"]["unique_graphs"],
        "kernels": metrics.generated_kernel_count,
    }


class Logarithm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positive = self.linear(x).abs()
        return x * torch.log1p(positive) + 1.0


class Pictures(nn.Module):
    """Its backward puts a gradient into memory that another kernel has filled with zeros,
    and adds a thousand equal numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm, self.pool = nn.BatchNorm2d(8), nn.AdaptiveAvgPool2d(1)
        self.out = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = self.pool(torch.relu_(self.norm(self.conv(x)))).flatten(1)
        return torch.log1p(self.out(pooled).abs())


class Words(nn.Module):
    """The sum of so many rows is a buffer, and its kernel then writes the norm alone."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.ModuleList([nn.Embedding(20, 16) for _ in range(4)])
        self.norm, self.out = nn.LayerNorm(16), nn.Linear(16, 16)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        first, second, third, last = self.rows
        rows = first(ids) + second(ids // 2) + third(ids % 8) + last(ids)
        return torch.log1p(self.out(self.norm(rows)).abs())


def test_a_wrong_logarithm_is_found_between_what_its_kernel_computes_beside_it(
    numbers: Numbers,
) -> None:
    start = counted_by_torch()
    with config.patch({"cpp.inject_log1p_bug_TESTING_ONLY": "accuracy"}):
        numbers.run(Logarithm(), torch.randn(4, 8), backend="inductor", backward=False)

    before = counted_by_torch()
    found = numbers.found()  # as the program compiled, whatever is set by now
    after = counted_by_torch()
    (first,) = map(blamed, found.faults)

    assert first[:2] == ("kernel", "forward, post-grad")
    assert first[3:] == (("log1p",), "torch.log1p(positive)")
    assert found.more_compilations == 1
    # One kernel is compiled once more, and no frame.
    assert before["frames"] == start["frames"] + 1
    assert before["graphs"] == start["graphs"] + 1
    assert after == {**before, "kernels": before["kernels"] + 1}


def test_memory_that_no_kernel_has_written_is_nobodys_value(numbers: Numbers) -> None:
    with config.patch({"cpp.inject_log1p_bug_TESTING_ONLY": "accuracy"}):
        ids = torch.arange(16).reshape(2, 8)
        numbers.run(Words(), ids, backend="inductor", backward=False)

    (first,) = map(blamed, numbers.found().faults)

    assert first[3:] == (("log1p",), "torch.log1p(self.out(self.norm(rows)).abs())")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_right_code_is_not_blamed(dtype: Any, numbers: Numbers) -> None:
    model = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU(), nn.Dropout(0.5))

    numbers.run(model.to(dtype), torch.randn(2, 4, 8, dtype=dtype), backend="inductor")
    before = counted_by_torch()

    found = numbers.found()

    assert counted_by_torch() == before
    assert found.faults == ()
    assert found.is_clear, found.unseen
    assert found.kernels > 0
    assert found.more_compilations == 0


@pytest.mark.parametrize("is_wrong", [False, True])
def test_code_of_a_graph_that_changes_values_is_judged_by_what_they_are_then(
    numbers: Numbers,
    is_wrong: bool,
) -> None:
    form: Any = {"memory_format": torch.channels_last}
    net: Any = Pictures()
    bug = "accuracy" if is_wrong else None
    with config.patch({"cpp.inject_log1p_bug_TESTING_ONLY": bug}):
        net = net.to(**form)
        numbers.run(net, torch.randn(16, 3, 32, 32).to(**form), backend="inductor")
    graphs = [
        ReplayedGraph(one.state)
        for kept in numbers.compilations
        for one in kept.lowered
        if one.state is not None
    ]

    found = numbers.found()

    assert {
        str(g.by_name[one].target) for g in graphs for one in g.writes.changing
    } == {f"aten.{one}.default" for one in ("full", "as_strided", "expand", "copy_")}
    assert [blamed(fault)[3:] for fault in found.faults] == (
        [(("log1p",), "torch.log1p(self.out(pooled).abs())")] if is_wrong else []
    )
    assert found.unseen == ()
