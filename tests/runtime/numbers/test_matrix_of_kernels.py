"""Wrong code of right graphs: kernels of the forward and of the backward of three models."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch

from fxls.verdicts.comparison import Comparison
from tests.runtime.numbers.looking import COMPILING, Numbers, blamed, config
from tests.runtime.numbers.test_matrix import LOG1P, MODELS, RELU

pytestmark = COMPILING

cpp: Any = importlib.import_module("torch._inductor.codegen.cpp")


def run(model: Any, numbers: Numbers, **settings: Any) -> Comparison:
    with config.patch(
        {"cpp.simdlen": 1, **settings}
    ):  # without vectors: less to compile
        x = torch.randn(8, 8, requires_grad=True)
        numbers.run(model(), x, backend="inductor")
    return numbers.found()


@MODELS
@pytest.mark.parametrize(("name", "code"), [("relu", RELU), ("log1p", LOG1P)])
def test_an_operator_of_the_forward_that_the_backward_computes_again(
    name: str, code: str, model: Any, numbers: Numbers
) -> None:
    found = run(model, numbers, **{f"cpp.inject_{name}_bug_TESTING_ONLY": "accuracy"})
    first, second = map(blamed, found.faults)

    assert first[:2] == ("kernel", "forward, post-grad")
    assert first[3:] == ((name,), code)
    assert second[:2] == ("kernel", "backward, post-grad")
    assert second[3:] == ((name,), code)
    assert found.more_compilations == 1


def halved(x: object) -> str:
    """C++ of a cosine that is half as much, of that of its argument."""
    return f"(std::cos({x}) * 0.5f)"


@MODELS
def test_an_operator_of_the_backward(
    model: Any, numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpp.CppOverrides, "cos", staticmethod(halved))

    found = run(model, numbers)
    (first,) = map(blamed, found.faults)

    assert first[:2] == ("kernel", "backward, post-grad")
    assert first[3:] == (("cos",), "logarithm.sin()")
    assert found.more_compilations == 1
