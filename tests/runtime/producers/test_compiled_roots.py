"""What torch.compile captured is called after what it was given to compile."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any, cast

import pytest
import torch
import torch._dynamo as dynamo_
import torch._dynamo.compiled_autograd as compiled_autograd_
from torch import nn

from fxls.runtime import finish
from fxls.store import Store
from tests.runtime.producers.looking import listings_in
from tests.runtime.producers.torch_nets import Net, doubled

dynamo: Any = dynamo_
compiled_autograd: Any = compiled_autograd_
compiled: Any = functools.partial(cast("Any", torch).compile, backend="eager")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def compiles_anew() -> Iterator[None]:
    dynamo.reset()
    yield
    dynamo.reset()


class OfTorch(nn.Linear):
    """With a forward that torch wrote."""


def halved(forward: Any) -> Any:
    @functools.wraps(forward)
    def inner(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return forward(self, x) / 2

    return inner


class Decorated(nn.Module):
    @halved
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3


class BrokenAtOnce(nn.Module):
    """Whose first graph is behind a break."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dynamo.graph_break()
        return self.linear(x)


def trained(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).sum()


def trained_alone(x: torch.Tensor) -> torch.Tensor:
    return x.sin().sum()


def replaced() -> nn.Module:
    """A module with a forward of its own."""

    def less(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return x - 1

    model = Decorated()
    model.forward = MethodType(less, model)
    return model


HERE = __name__
NETS = Net.__module__
CASES: dict[str, tuple[Callable[[torch.Tensor], object], tuple[str, str]]] = {
    "a module": (lambda x: compiled(Net())(x), (NETS, "Net")),
    "a function": (lambda x: compiled(doubled)(x), (NETS, "doubled")),
    "a function that takes a module": (
        *(lambda x: compiled(trained)(Net(), x), (HERE, "trained")),
    ),
    "a module whose forward torch wrote": (
        *(lambda x: compiled(OfTorch(4, 4))(x), (HERE, "OfTorch")),
    ),
    "a function of torch": (lambda x: compiled(torch.relu)(x), ("torch", "relu")),
    "what a function of torch makes of one": (
        *(
            lambda x: compiled(torch.func.grad(trained_alone))(x),
            (HERE, "trained_alone"),
        ),
    ),
    "a decorated forward": (
        *(lambda x: compiled(Decorated())(x), (HERE, "Decorated")),
    ),
    "a forward of one module": (
        *(lambda x: compiled(replaced())(x), (HERE, "Decorated")),
    ),
    "nothing in front of a break": (
        *(lambda x: compiled(BrokenAtOnce())(x), (HERE, "BrokenAtOnce")),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_graph_is_called_after_the_class_or_the_function(
    store: Store, case: str
) -> None:
    call, name = CASES[case]
    call(torch.ones(2, 4))
    finish()
    (identity,) = store.identities()
    assert (identity.module, identity.qualname) == name


def test_what_compiled_autograd_captures_is_a_listing(store: Store) -> None:
    with compiled_autograd._enable(compiled):
        x: Any = torch.ones(3, requires_grad=True)
        (x.sin() * 2).sum().backward()
    ((key, listing),) = listings_in(store).items()
    assert key == ("CompiledAutograd0", "torch.compile", "graph 0")
    called = [facts.target for facts in listing.nodes]
    assert "torch._dynamo.compiled_autograd.ops.SinBackward0" in called
    assert listing.frames == (), "the code that torch writes for itself is no source"
