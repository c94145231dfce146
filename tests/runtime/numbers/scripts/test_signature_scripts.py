"""An operator that does what its signature does not say has a script that defines it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import COMPILING, Numbers, any_torch, without_kernels
from tests.runtime.numbers.scripts.alone import RIGHT, WRONG, said

pytestmark = [
    *COMPILING,
    pytest.mark.filterwarnings("ignore:.*may not alias any inputs"),  # by torch
]

SPACE = "fxls_signatures"
BY = 2.0
HELD: Any = object()


@pytest.fixture
def library() -> Iterator[Any]:
    made = any_torch.library.Library(SPACE, "FRAGMENT")
    settings = any_torch._functorch.config
    refuses = "error_on_custom_op_aliasing"  # where the variable CI is set
    here = {refuses: False} if hasattr(settings, refuses) else {}
    with settings.patch(here):
        yield made
    made._destroy()


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * BY


def sneaky(x: torch.Tensor) -> torch.Tensor:
    doubled = scaled(x)
    x.add_(1.0)
    return doubled


def holding(x: torch.Tensor) -> torch.Tensor:
    doubled = x * 2.0
    x.add_(float(HELD is not None))
    return doubled


def bump(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1.0)
    y.mul_(2.0)
    return x + y


def same(x: torch.Tensor) -> torch.Tensor:
    return x.view(x.shape)


def empty(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def found(
    library: Any,
    numbers: Numbers,
    kernel: Callable[..., Any],
    signature: str,
    backend: Any = without_kernels,
) -> Any:
    """What is found in a program that calls an operator with this kernel."""
    name = signature.partition("(")[0]
    library.define(signature)
    library.impl(name, kernel, "CPU")
    any_torch.library.register_fake(f"{SPACE}::{name}", empty, lib=library)
    operator = getattr(getattr(any_torch.ops, SPACE), name)
    count = signature.partition(" -> ")[0].count("Tensor")

    def model(x: torch.Tensor) -> torch.Tensor:
        if kernel is same:
            y = operator(x)
            x.add_(1.0)
            return y * 2.0 + x
        return operator(*(x.sin(), x.cos())[:count]) + x

    numbers.run(model, torch.rand(4, 8), backend=backend)
    return numbers.found(is_reproducing=True)


@pytest.mark.parametrize(
    ("kernel", "signature", "backend", "claim", "honest"),
    [
        (
            sneaky,
            "sneaky(Tensor x) -> Tensor",
            without_kernels,
            "changes what it is given, and its signature says that it does not",
            ("    x.add_(1.0)\n", ""),
        ),
        (
            bump,
            "bump(Tensor(a!) x, Tensor y) -> Tensor",
            without_kernels,
            "changes what it is given, and its signature says so of other arguments",
            ("    y.mul_(2.0)\n", ""),
        ),
        (
            same,
            "same(Tensor x) -> Tensor",
            "inductor",
            "gives memory of what it is given, and its signature says that it does not",
            ("x.view(x.shape)", "x.clone()"),
        ),
    ],
    ids=["writes", "writes more", "memory"],
)
def test_an_operator_is_written_by_its_source_and_shown_to_lie(
    kernel: Callable[..., Any],
    signature: str,
    backend: Any,
    claim: str,
    honest: tuple[str, str],
    library: Any,
    numbers: Numbers,
    tmp_path: Path,
) -> None:
    answer = found(library, numbers, kernel, signature, backend)

    assert answer.no_reproducer == ""
    (script,) = answer.reproducers
    assert script.claim == f"{SPACE}.{kernel.__name__}.default: it {claim}."
    assert (script.nodes, script.compiles) == (1, False)
    assert said(script.text, tmp_path) == WRONG
    assert honest[0] in script.text
    assert said(script.text.replace(*honest), tmp_path) == RIGHT


def test_an_operator_that_needs_more_than_torch_has_no_script_and_says_why(
    library: Any, numbers: Numbers
) -> None:
    answer = found(library, numbers, holding, "holding(Tensor x) -> Tensor")

    assert answer.faults[0].name == f"{SPACE}.holding.default"
    assert answer.reproducers == ()
    assert answer.no_reproducer == "it reads HELD, of which nothing writes the value"
