"""Each kind of fault, planted in the forward and in the backward of three models."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.runtime.numbers.looking import (
    COMPILING,
    Blamed,
    Numbers,
    any_torch,
    aten,
    blamed,
    config,
    nodes,
    without_kernels,
)

pytestmark = COMPILING

decomposition: Any = importlib.import_module("torch._inductor.decomposition")
GELU, RELU, LOG1P = "functional.gelu(y)", "functional.relu(z)", "torch.log1p(positive)"


def ended(y: torch.Tensor) -> torch.Tensor:
    """What all three models end with: each planted fault has its place here."""
    z = functional.gelu(y)
    positive = functional.relu(z)
    logarithm = torch.log1p(positive)
    return torch.sigmoid(y) * logarithm.sin()


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(8, 12), nn.LayerNorm(12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ended(self.norm(self.first(x)))


class Pictures(nn.Module):
    """In training its norm overwrites what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ended(self.norm(self.conv(x.reshape(2, 1, 4, 8)))).mean((2, 3))


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x.reshape(2, 4, 8)).chunk(3, -1)
        hidden = torch.ones(4, 4, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-2, -1)).masked_fill(hidden, float("-inf"))
        return x.reshape(2, 4, 8) + ended(scores.softmax(-1) @ v)


MODELS = pytest.mark.parametrize("model", [Layers, Pictures, Words])


def answer(model: Any, numbers: Numbers, backend: Any = without_kernels) -> Blamed:
    x = torch.randn(8, 8, requires_grad=True)
    found = numbers.of(model(), x, backend=backend)
    assert found.faults, found.unseen
    return blamed(found.faults[0])


def is_backward(graph: Any) -> bool:
    return any(node.name.startswith("tangents") for node in graph.nodes)


# -- passes ----------------------------------------------------------------------------


@MODELS
def test_a_pre_grad_pass_in_the_forward(model: Any, numbers: Numbers) -> None:
    def wrong(graph: Any) -> None:
        nodes(graph, functional.relu)[0].target = torch.tanh

    with config.patch(pre_grad_custom_pass=wrong):
        assert answer(model, numbers) == Blamed(
            *("pass", "pre-grad", "pre_grad_custom_pass", ("positive",)), RELU
        )


@MODELS
def test_a_pre_grad_pass_in_the_backward(model: Any, numbers: Numbers) -> None:
    def cuts_gradients(graph: Any) -> None:
        (relu,) = nodes(graph, functional.relu)
        with graph.inserting_before(relu):
            relu.args = (graph.call_method("detach", (relu.args[0],)),)

    with config.patch(pre_grad_custom_pass=cuts_gradients):
        assert answer(model, numbers)[:4] == (
            *("pass", "pre-grad", "pre_grad_custom_pass"),
            ("detach",),
        )


def exchanges(target: Any, other: Any, *, backward: bool) -> Callable[[Any], None]:
    def wrong(graph: Any) -> None:
        if is_backward(graph) is backward:
            nodes(graph, target)[-1].target = other

    return wrong


@MODELS
@pytest.mark.parametrize(
    ("target", "other", "code"),
    [
        (aten.log1p.default, aten.sin.default, LOG1P),
        (aten.cos.default, aten.sin.default, "logarithm.sin()"),
    ],
    ids=["forward", "backward"],
)
def test_a_joint_pass(
    target: Any, other: Any, code: str, model: Any, numbers: Numbers
) -> None:
    wrong = exchanges(target, other, backward=True)  # a joint graph has tangents

    with config.patch(joint_custom_post_pass=wrong):
        found = answer(model, numbers)

    assert found[:3] == ("pass", "joint", "joint_custom_post_pass")
    assert found.nodes == (str(target).split(".")[1],)
    assert found.code == code


@MODELS
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_a_post_grad_pass(backward: bool, model: Any, numbers: Numbers) -> None:
    target = aten.cos.default if backward else aten.log1p.default
    wrong = exchanges(target, aten.tanh.default, backward=backward)

    with config.patch(post_grad_custom_post_pass=wrong):
        found = answer(model, numbers)

    half = "backward" if backward else "forward"
    name = str(target).split(".")[1]
    assert found == Blamed(
        *("pass", f"{half}, post-grad", "post_grad_custom_post_pass", (name,)),
        "logarithm.sin()" if backward else LOG1P,
    )


# -- decompositions, backends, operators -------------------------------------------------


def gelu(x: Any, approximate: str = "none") -> Any:
    return x * torch.sigmoid(1.702 * x)


def gelu_backward(grad: Any, x: Any, approximate: str = "none") -> Any:
    return grad * torch.sigmoid(1.702 * x)


@MODELS
@pytest.mark.parametrize(
    ("which", "wrong"),
    [(aten.gelu.default, gelu), (aten.gelu_backward.default, gelu_backward)],
    ids=["forward", "backward"],
)
def test_a_decomposition(
    which: Any,
    wrong: Any,
    model: Any,
    monkeypatch: pytest.MonkeyPatch,
    numbers: Numbers,
) -> None:
    monkeypatch.setitem(decomposition.fast_random_decomps(), which, wrong)

    found = answer(model, numbers)

    assert found[:3] == ("decomposition", "traced", str(which))
    assert found.code == GELU


def replacing(gm: Any, inputs: Any) -> Any:
    nodes(gm.graph, functional.relu)[0].target = torch.tanh
    gm.recompile()
    return without_kernels(gm, inputs)


def cutting(gm: Any, inputs: Any) -> Any:
    (relu,) = nodes(gm.graph, functional.relu)
    with gm.graph.inserting_before(relu):
        relu.args = (gm.graph.call_method("detach", (relu.args[0],)),)
    gm.recompile()
    return without_kernels(gm, inputs)


@MODELS
@pytest.mark.parametrize(
    ("backend", "node"), [(replacing, "positive"), (cutting, "detach")]
)
def test_a_backend(backend: Any, node: str, model: Any, numbers: Numbers) -> None:
    found = answer(model, numbers, backend)

    assert found[:4] == ("backend", "", backend.__name__, (node,))


def shifted(x: torch.Tensor) -> torch.Tensor:
    return x.cos().t().contiguous().t()


class Twisted(torch.autograd.Function):
    """It calls an operator of the program in its forward, or in its backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, backward: bool) -> torch.Tensor:
        ctx.backward = backward
        return x.sin() if backward else any_torch.ops.fxls_matrix.shifted(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        (grad,) = grads
        both = any_torch.ops.fxls_matrix.shifted(grad) if ctx.backward else grad * 2.0
        return both, None


@MODELS
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # by Dynamo
def test_a_fake_kernel(backward: bool, model: Any, numbers: Numbers) -> None:
    library = any_torch.library.Library("fxls_matrix", "FRAGMENT")
    library.define("shifted(Tensor x) -> Tensor")
    library.impl("shifted", shifted, "CPU")
    any_torch.library.register_fake(
        "fxls_matrix::shifted", any_torch.empty_like, lib=library
    )
    inner, x = model(), torch.randn(8, 8, requires_grad=True)

    def calling(x: torch.Tensor) -> torch.Tensor:
        called: Any = Twisted
        return inner(called.apply(x, backward) + 1.0)

    raised = None
    try:
        numbers.run(calling, x)
    except (AssertionError, RuntimeError) as error:
        raised = repr(error)
    (fault,) = numbers.found(raised).faults
    library._destroy()

    assert blamed(fault)[:3] == ("fake", "traced", "fxls_matrix.shifted.default")
