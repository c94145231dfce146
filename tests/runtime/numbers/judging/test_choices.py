"""Indices of equal elements: any of them is right, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.runtime.numbers.looking import COMPILING, Numbers, aten, config, nodes

pytestmark = COMPILING

CHOOSING = (
    aten.sort.default,
    aten.topk.default,
    aten.max.dim,
    aten.argmax.default,
)


def sorts(x: torch.Tensor) -> Any:
    values, order = torch.sort(x, dim=1, descending=True)
    return values * 2, order


def takes_largest(x: torch.Tensor) -> Any:
    return x.topk(3, 1).indices, x.argmax(1), x.max(0).indices, x.argmax()


def of_flipped(target: Any, off: int) -> Callable[..., Any]:
    """An operator that finds the last of equal elements, where others find the first, and
    says of each that it is so many elements further.
    """

    def operator(x: Any, *args: Any, **kwargs: Any) -> Any:
        at = 1 if target is aten.topk.default else 0
        dim = args[at] if len(args) > at else None
        flipped = x.reshape(-1).flip(0).view(x.shape) if dim is None else x.flip(dim)
        size: int = x.numel() if dim is None else x.shape[dim]
        found = target(flipped, *args, **kwargs)
        if isinstance(found, torch.Tensor):
            return (size - 1 - found + off) % size
        return found[0], (size - 1 - found[1] + off) % size

    return operator


def exchanging(off: int = 0) -> Callable[[Any], None]:
    """A pass that puts these in the place of all that choose."""

    def exchange(graph: Any) -> None:
        for target in CHOOSING:
            for node in nodes(graph, target):
                node.target = of_flipped(target, off)

    return exchange


EQUAL = torch.tensor([[1.0, 3.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 5.0, 5.0]])


@pytest.mark.parametrize("model", [sorts, takes_largest])
def test_others_of_equal_elements_are_right(
    numbers: Numbers, model: Callable[[torch.Tensor], Any]
) -> None:
    with config.patch(post_grad_custom_post_pass=exchanging()):
        found = numbers.of(model, EQUAL, backward=False)

    assert (found.faults, found.unseen) == ((), ())


@pytest.mark.parametrize(("model", "name"), [(sorts, "sort"), (takes_largest, "topk")])
def test_indices_of_other_elements_are_wrong(
    numbers: Numbers, model: Callable[[torch.Tensor], Any], name: str
) -> None:
    with config.patch(post_grad_custom_post_pass=exchanging(off=1)):
        answer = numbers.first(model, EQUAL, backward=False)

    assert (answer.name, answer.nodes) == ("post_grad_custom_post_pass", (name,))
