"""What a partition saves wrongly has a script that runs both halves and the joint graph."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.runtime.numbers.looking import COMPILING, Numbers, exchange_what_is_saved
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said
from tests.runtime.numbers.test_what_matters import Centred

pytestmark = COMPILING

SHOWS = (
    "It runs the joint graph, and the forward and the backward that were made of it; what"
    " made them is not in this script."
)


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x.sin() * y.exp()).tanh().cos()


def test_values_that_are_exchanged_are_the_nodes_of_one_gradient_in_all_three_graphs(
    monkeypatch: pytest.MonkeyPatch, numbers: Numbers, tmp_path: Path
) -> None:
    exchange_what_is_saved(monkeypatch)
    both = [torch.rand(4, 4, requires_grad=True) for _ in range(2)]
    numbers.run(product, *both)
    answer = numbers.found(is_reproducing=True)

    assert answer.no_reproducer == ""
    (script,) = answer.reproducers
    assert (script.compiles, script.shows) == (False, SHOWS)
    assert said(script.text, tmp_path) == WRONG
    assert "return (primals_2, primals_1)" in script.text, script.text
    honest = script.text.replace("(primals_2, primals_1)", "(primals_1, primals_2)")
    assert said(honest, tmp_path) == RIGHT


def test_an_input_that_is_overwritten_too_early_is_in_the_memory_that_it_has(
    numbers: Numbers, tmp_path: Path
) -> None:
    numbers.run(Centred(), torch.randn(4, 8, requires_grad=True))
    answer = numbers.found(is_reproducing=True)

    assert answer.no_reproducer == ""
    (script,) = answer.reproducers
    assert answer.faults[0].overwritten in script.text
    assert said(script.text, tmp_path) == WRONG
    joint, _, halves = script.text.partition("def forward")
    copy = "    copy_ = torch.ops.aten.copy_.default(primals_1, add)\n"
    assert (copy in joint, copy in halves) == (True, True)
    honest = f"{joint}def forward{halves.replace(copy, '')}"
    assert said(honest, tmp_path) == RIGHT
