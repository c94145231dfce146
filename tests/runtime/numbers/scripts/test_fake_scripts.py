"""A wrong fake kernel has a script that defines its operator anew, with torch alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import COMPILING, Numbers, any_torch, without_kernels
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said

pytestmark = COMPILING


def flipped(x: torch.Tensor, by: float) -> torch.Tensor:
    return (x.sin() * by).t().contiguous().t()


def lies(x: torch.Tensor, by: float) -> torch.Tensor:
    return torch.empty_like(x)


@pytest.fixture
def library() -> Iterator[Any]:
    made = any_torch.library.Library("fxls_scripts", "FRAGMENT")
    yield made
    made._destroy()


def reproducer(numbers: Numbers, operator: Any) -> Any:
    def model(x: torch.Tensor) -> torch.Tensor:
        return operator(x * 2.0, 3.0) + 1.0

    numbers.run(model, torch.randn(4, 8), backend=without_kernels)
    (script,) = numbers.found(is_reproducing=True).reproducers
    assert (script.nodes, script.compiles) == (1, False)
    return script


def test_an_operator_of_python_is_written_by_its_source(
    numbers: Numbers, tmp_path: Path
) -> None:
    named = "fxls_scripts::flip"
    operator = any_torch.library.custom_op(named, flipped, mutates_args=())
    operator.register_fake(lies)

    script = reproducer(numbers, operator)

    assert "return (x.sin() * by).t().contiguous().t()" in script.text
    assert (
        script.shows == "The script defines the operator, by the program's own source."
    )
    assert said(script.text, tmp_path) == WRONG
    honest = script.text.replace("empty_like(x)", "empty_like(x.t().contiguous()).t()")
    assert said(honest, tmp_path) == RIGHT


def test_an_operator_without_source_is_written_by_the_forms_that_it_had(
    library: Any, numbers: Numbers, tmp_path: Path
) -> None:
    library.define("turn(Tensor x, float by) -> Tensor")
    library.impl("turn", flipped, "CPU")
    any_torch.library.register_fake("fxls_scripts::turn", lies, lib=library)

    script = reproducer(numbers, any_torch.ops.fxls_scripts.turn)

    assert script.shows == (
        "The script defines the operator: its kernel gives the form that it gave in the"
        " program and its fake kernel says the form that it said there."
    )
    assert said(script.text, tmp_path) == WRONG
    strided = "torch.empty_strided((4, 8), (1, 4), dtype=torch.float32).copy_("
    assert strided in script.text
    honest = script.text.replace(strided, "(")
    assert said(honest, tmp_path) == RIGHT
