"""What a debugger's line says of a tensor."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from fxls.tensor_view import EXACT, TensorView

VIEW = TensorView()

inf, nan = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda: torch.tensor([[1.0, -2.0], [0.5, 4.0]]),
            "float32 (2, 2) cpu, min -2 max 4 mean 0.875, [1, -2, ...]",
        ),
        (
            lambda: torch.tensor([1.0, nan, inf, -inf, nan]),
            "float32 (5,) cpu, min 1 max 1 mean 1, 2 NaN, 2 Inf, [1, nan, inf, -inf, ...]",
        ),
        (lambda: torch.tensor([nan]), "float32 (1,) cpu, 1 NaN, [nan]"),
        (lambda: torch.tensor(3), "int64 () cpu, 3"),
        (lambda: torch.arange(3), "int64 (3,) cpu, min 0 max 2 mean 1, [0, 1, 2]"),
        (
            lambda: torch.tensor([True, False]),
            "bool (2,) cpu, 1 true of 2, [True, False]",
        ),
        (
            lambda: torch.tensor([3 + 4j]),
            "complex64 (1,) cpu, min 5 max 5 mean 5, [(3+4j)]",
        ),
        (lambda: torch.empty(0, 4), "float32 (0, 4) cpu, empty"),
        (
            lambda: torch.ones(2, dtype=torch.bfloat16, requires_grad=True),
            "bfloat16 (2,) cpu grad, min 1 max 1 mean 1, [1, 1]",
        ),
        (lambda: torch.empty(4, 4, device="meta"), "float32 (4, 4) meta"),
        (lambda: torch.ones(2, 2).to_sparse(), "float32 (2, 2) cpu"),
        (lambda: FakeTensorMode().from_tensor(torch.ones(2)), "float32 (2,) cpu"),
    ],
)
def test_a_line_says_kind_then_numbers(
    make: Callable[[], torch.Tensor], line: str
) -> None:
    assert VIEW.get_str(make()) == line


def test_a_large_tensor_is_judged_by_a_part_and_not_copied() -> None:
    endless = torch.ones(1).expand(1 << 20, 1 << 20)
    start = time.thread_time()
    line = VIEW.get_str(endless)
    assert time.thread_time() - start < 1
    head, judged, _ = line.split(", judged by ")[0], line.split("judged by ")[1], 0
    assert head == "float32 (1048576, 1048576) cpu, min 1 max 1 mean 1"
    count, _, total = judged.partition(" of ")
    assert total.startswith("1,099,511,627,776")
    assert EXACT / 64 < int(count.replace(",", "")) <= EXACT


def test_the_whole_text_is_there_for_who_asks_for_the_value() -> None:
    tensor = torch.ones(2)
    assert VIEW.get_str_in_context(tensor, "repl") == repr(tensor)
    assert VIEW.get_str_in_context(tensor, "clipboard") == repr(tensor)
    assert VIEW.get_str_in_context(tensor, "hover") == VIEW.get_str(tensor)
    assert VIEW.get_str_in_context(tensor, "watch") == VIEW.get_str(tensor)


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (torch.zeros(2, 3), "f32[2, 3]"),
        (torch.tensor(1), "i64[]"),
        (torch.zeros(1, dtype=torch.bfloat16), "bf16[1]"),
        (torch.zeros(0, dtype=torch.bool), "bool[0]"),
        (torch.zeros(2, device="meta", requires_grad=True), "f32[2]"),
    ],
)
def test_behind_a_line_of_code_a_tensor_is_as_shapes_are_written(
    tensor: torch.Tensor, expected: str
) -> None:
    assert VIEW.get_str_in_context(tensor, "inline") == expected


def test_the_parts_are_what_people_look_for() -> None:
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    parts = {
        name: (str(value), path)
        for name, value, path in VIEW.get_contents_debug_adapter_protocol(tensor)
    }
    assert parts == {
        "shape": ("torch.Size([2, 2])", ".shape"),
        "dtype": ("torch.float32", ".dtype"),
        "device": ("cpu", ".device"),
        "requires_grad": ("True", ".requires_grad"),
        "grad_fn": ("None", ".grad_fn"),
        "grad": ("None", ".grad"),
        "[0]": ("tensor([1., 2.])", "[0]"),
        "[1]": ("tensor([3., 4.])", "[1]"),
    }
    assert str(VIEW.resolve(tensor, "[1]")) == "tensor([3., 4.])"


def test_looking_is_not_recorded() -> None:
    weight = torch.ones(2)

    def looked_at(x: torch.Tensor) -> torch.Tensor:
        y = x + weight
        VIEW.get_str(y)
        VIEW.get_str(weight)
        VIEW.get_dictionary(weight)
        return y * 2

    graph = make_fx(looked_at)(torch.ones(2)).graph
    targets = [str(n.target) for n in graph.nodes if n.op == "call_function"]
    assert targets == ["aten.add.Tensor", "aten.mul.Tensor"]


def test_a_tensor_that_cannot_be_read_is_said_to_be_so() -> None:
    class Broken(torch.Tensor):
        @property
        def dtype(self) -> torch.dtype:  # pyright: ignore[reportIncompatibleVariableOverride]  # broken on purpose
            raise RuntimeError("no device answers")

    broken = torch.ones(2).as_subclass(Broken)
    assert VIEW.get_str(broken) == "Broken that cannot be read: no device answers"
    assert "shape" in VIEW.get_dictionary(broken)


def test_only_tensors_are_shown() -> None:
    assert VIEW.can_provide(torch.nn.Parameter, "Parameter")
    assert not VIEW.can_provide(int, "int")
