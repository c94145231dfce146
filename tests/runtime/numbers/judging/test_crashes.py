"""A step that raises is a fault: who raised is named, and the node where it is known."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.runtime.numbers.looking import (
    COMPILING,
    Blamed,
    Numbers,
    Perceptron,
    any_torch,
    aten,
    blamed,
    config,
)

pytestmark = COMPILING

common: Any = importlib.import_module("torch._dynamo.backends.common")
lowering: Any = importlib.import_module("torch._inductor.lowering")


def raised(
    numbers: Numbers, model: Any, *inputs: Any, **how: Any
) -> tuple[Blamed, str]:
    """The one fault of a program that raises, and what it says."""
    with pytest.raises(Exception, match="no good"):
        numbers.run(model, *inputs, **how)
    (fault,) = numbers.found().faults
    return blamed(fault), fault.raised


def no_good(*_: Any, **__: Any) -> Any:
    raise ValueError("no good")


@pytest.mark.parametrize(
    ("hook", "stage"),
    [
        ("pre_grad_custom_pass", "pre-grad"),
        ("joint_custom_post_pass", "joint"),
        ("post_grad_custom_post_pass", "forward, post-grad"),
    ],
)
def test_a_pass_that_raises_is_to_blame(
    hook: str, stage: str, numbers: Numbers
) -> None:
    with config.patch({hook: no_good}):
        answer = raised(numbers, Perceptron(), torch.randn(4, 8))

    assert answer == (Blamed("pass", stage, hook, (), ""), "ValueError: no good")


def test_a_backend_that_raises_is_to_blame(numbers: Numbers) -> None:
    answer = raised(numbers, Perceptron(), torch.randn(4, 8), backend=no_good)

    assert answer == (Blamed("backend", "", "no_good", (), ""), "ValueError: no good")


def test_a_compiler_behind_aotautograd_that_raises_is_to_blame(
    numbers: Numbers,
) -> None:
    backend = common.aot_autograd(fw_compiler=no_good)

    answer = raised(numbers, Perceptron(), torch.randn(4, 8), backend=backend)

    blame = Blamed("backend", "forward", "no_good", (), "")
    assert answer == (blame, "ValueError: no good")


def test_a_lowering_that_raises_is_named_by_its_node_and_expression(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lowering.lowerings, aten.relu.default, no_good)

    answer, said = raised(
        numbers,
        Perceptron(),
        torch.randn(4, 8),
        backend="inductor",
    )

    assert answer[:2] == ("kernel", "forward, post-grad")
    assert answer[3:] == (("relu",), "functional.relu(out)")
    assert "no good" in said


def test_code_that_is_no_cpp_is_a_fault_of_the_compiled_code(numbers: Numbers) -> None:
    with (
        config.patch({"cpp.inject_relu_bug_TESTING_ONLY": "compile_error"}),
        pytest.raises(Exception, match="C\\+\\+ compile error"),
    ):
        numbers.run(functional.relu, torch.randn(8), backend="inductor")
    (fault,) = numbers.found().faults

    assert blamed(fault)[:2] == ("kernel", "forward, post-grad")
    assert "CppCompileError" in fault.raised


def test_what_the_program_itself_raises_is_nobodys_fault(numbers: Numbers) -> None:
    def out_of_range(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return x[at] * 2

    with pytest.raises(Exception, match="out of bounds"):
        numbers.run(out_of_range, torch.randn(4), torch.tensor([9]), backend="inductor")
    found = numbers.found()

    assert found.faults == ()
    assert not found.is_clear


def test_a_graph_that_begins_anew_has_not_crashed(numbers: Numbers) -> None:
    def specializes(x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by

    compiled = any_torch.compile(specializes, backend="aot_eager")
    for by in (1.0, 2.0, 3.0):
        compiled(torch.randn(4), by)

    assert numbers.found().faults == ()
