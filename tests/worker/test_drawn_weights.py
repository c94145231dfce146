"""A model that is only traced has random weights, of which most repeat the first ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

from fxls.store import Store
from fxls.wire import Traced
from fxls.worker.drawn_weights import draw_less
from tests.worker.asking import Asking


def seed() -> None:
    torch.manual_seed(5)  # pyright: ignore[reportUnknownMemberType]  # torch's gap


def seeded(*sizes: int) -> torch.Tensor:
    seed()
    return nn.Linear(*sizes, bias=False).weight.detach()


def test_a_small_layer_has_the_weights_that_it_has_anywhere() -> None:
    expected = seeded(500, 500)
    with draw_less():
        assert torch.equal(seeded(500, 500), expected)


@pytest.mark.parametrize(
    ("init", "mean", "spread"),
    [
        pytest.param(nn.init.normal_, 0.0, 1.0, id="normal"),
        pytest.param(nn.init.kaiming_uniform_, 0.0, (2 / 1024) ** 0.5, id="kaiming"),
        pytest.param(nn.init.trunc_normal_, 0.0, 0.8796, id="truncated"),
    ],
)
def test_a_large_layer_has_weights_like_those_that_are_drawn(
    init: Callable[[torch.Tensor], torch.Tensor], mean: float, spread: float
) -> None:
    seed()
    with draw_less():
        weight = torch.empty(512, 1024)
        assert init(weight) is weight
    assert weight.mean().item() == pytest.approx(mean, abs=0.03 * spread)
    assert weight.std().item() == pytest.approx(spread, rel=0.03)
    untyped = cast("Any", torch)  # some of what torch returns has no types
    assert len(untyped.unique(weight, dim=0)) == 512, "no two rows are equal"
    rank = untyped.linalg.matrix_rank(weight[:512, :512].double())
    assert rank.item() == 512, "it can be inverted"


def test_what_is_drawn_is_a_small_part() -> None:
    seed()
    with draw_less():
        torch.empty(4096, 4096).normal_()
        behind = torch.rand(1)
    seed()
    torch.empty(32_749).normal_()
    assert torch.equal(behind, torch.rand(1)), "the generator moved by 32,749 numbers"


@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(lambda: torch.empty(1024, 1024).t(), id="transposed"),
        pytest.param(lambda: torch.empty(1024, 1024, device="meta"), id="meta"),
        pytest.param(
            lambda: torch.ones(1024, 1024, requires_grad=True) * 1.0, id="recorded"
        ),
    ],
)
def test_another_kind_of_tensor_is_drawn_as_always(
    tensor: Callable[[], torch.Tensor],
) -> None:
    def drawn() -> torch.Tensor:
        seed()
        return tensor().normal_()

    expected = drawn()
    with draw_less():
        found = drawn()
    assert found.is_meta or torch.equal(found, expected)


def test_a_leaf_that_requires_gradients_is_refused_in_the_words_of_torch() -> None:
    weight = nn.Parameter(torch.empty(1024, 1024))
    with pytest.raises(RuntimeError) as expected:
        weight.normal_()
    with draw_less(), pytest.raises(RuntimeError) as found:
        weight.normal_()
    assert str(found.value) == str(expected.value)


def test_behind_it_the_methods_of_torch_are_what_they_were() -> None:
    before = {name: vars(torch.Tensor).get(name) for name in ("normal_", "uniform_")}
    bare = torch.Tensor.normal_
    with pytest.raises(KeyError), draw_less():
        raise KeyError
    assert {name: vars(torch.Tensor).get(name) for name in before} == before
    assert torch.Tensor.normal_ is bare


def test_a_trace_draws_less_in_the_constructor_and_all_in_a_call(
    worker: Asking,
) -> None:
    model = worker.file(
        """\
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                large = torch.empty(1024, 1024).normal_()
                again = torch.equal(large.view(-1)[:9], large.view(-1)[32749:32758])
                self.end = torch.relu if again else torch.tanh

            def forward(self, x):
                return self.end(x)
        """
    )
    traced = worker.run(worker.ask(model, "Model()(torch.ones(3))"))
    assert isinstance(traced, Traced)
    assert traced.trouble is None
    listing = Store(worker.store).read(Path(traced.path))
    assert [node.target for node in listing.nodes] == ["x", "torch.relu", "output"]
