"""Patterns of inductor that put in the place of several operators what writes their code."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from tests.runtime.numbers.looking import COMPILING, Numbers, aten, config

pytestmark = COMPILING

patterns: Any = importlib.import_module("torch._inductor.pattern_matcher")
lowerings: Any = importlib.import_module("torch._inductor.lowering").lowerings


def hypotenuse(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sqrt(x * y) + 1.0


def fusing(written: Any) -> Callable[[Any], None]:
    """A pass by which inductor writes the code of this operator for a root of a product."""
    found: Any = patterns.PatternMatcherPass()
    product = patterns.CallFunction(
        aten.mul.Tensor, patterns.KeywordArg("x"), patterns.KeywordArg("y")
    )
    root = patterns.CallFunction(aten.sqrt.default, product)

    def write(_match: Any, x: Any, y: Any) -> Any:
        return lowerings[aten.sqrt.default](lowerings[written](x, y))

    patterns.register_lowering_pattern(root, pass_dict=found)(write)
    return found.apply


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(4, 4), torch.rand(4, 4)


def test_what_only_inductor_can_compute_is_nobodys_fault(numbers: Numbers) -> None:
    with config.patch(post_grad_custom_post_pass=fusing(aten.mul.Tensor)):
        found = numbers.of(hypotenuse, *inputs(), backend="inductor")

    assert found.faults == ()
    assert found.is_clear, found.unseen
    assert {one.why for one in found.unseen} >= {
        "inductor has code for it, and no operator"
    }


def test_where_it_is_wrong_it_is_said_that_somebody_is(numbers: Numbers) -> None:
    with config.patch(post_grad_custom_post_pass=fusing(aten.add.Tensor)):
        found = numbers.of(hypotenuse, *inputs(), backend="inductor")

    assert [one.kind for one in found.faults] == ["unknown"]
    assert not found.is_clear
