# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Products with one matrix become one product, as torch.fx makes them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.fx.experimental import merge_matmul as theirs

from fxls import engine
from fxls.engine.experimental import merge_matmul as ours


class Simple(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.right = nn.Parameter(torch.randn(3, 4))

    def forward(self, x: Any, y: Any, z: Any) -> Any:
        a = torch.matmul(x, self.right).relu()
        b = torch.matmul(y, self.right)
        return a.sum() + torch.matmul(z, self.right).sum() + b.sum()


class TwoMatrices(nn.Module):
    def forward(self, x: Any, y: Any, z: Any) -> Any:
        a = torch.matmul(x, z.t())
        b = torch.matmul(y, z.t()[:3])
        return torch.matmul(x, x.t()).sum() + a.sum() + b.sum()


class OneBehindTheOther(nn.Module):
    def forward(self, x: Any, y: Any, z: Any) -> Any:
        square = torch.matmul(x[:3], z[:3])
        twice = torch.matmul(square.relu(), z[:3])
        return torch.matmul(square, y[:3]).sum() + twice.sum()


class Crossed(nn.Module):
    """Merged by the first matrix, those by the second one would need themselves."""

    def forward(self, x: Any, y: Any, z: Any) -> Any:
        p, q = x[:3], y[:3]
        a = torch.matmul(z[:3], p)
        b = torch.matmul(a, q)
        c = torch.matmul(z[:3].relu(), q)
        return b.sum() + torch.matmul(c, p).sum()


def products(module: nn.Module, fx: Any) -> int:
    nodes = fx.symbolic_trace(module).graph.nodes
    return sum(node.target is torch.matmul for node in nodes)


@pytest.mark.parametrize("kind", [Simple, TwoMatrices, OneBehindTheOther])
def test_as_many_products_are_left_as_by_torch_fx(kind: type[nn.Module]) -> None:
    module = kind()
    merged = ours.merge_matmul(module)
    expected = theirs.merge_matmul(module)
    inputs = torch.randn(4, 3), torch.randn(6, 3), torch.randn(5, 3)

    torch.testing.assert_close(merged(*inputs), module(*inputs))
    assert products(merged, engine) == products(expected, torch.fx)


def test_what_would_need_itself_stays_apart() -> None:
    module = Crossed()
    inputs = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3, 3)

    torch.testing.assert_close(ours.merge_matmul(module)(*inputs), module(*inputs))


def test_a_merged_module_is_traced_again() -> None:
    module = Simple()
    again = engine.symbolic_trace(ours.merge_matmul(module))
    inputs = torch.randn(4, 3), torch.randn(6, 3), torch.randn(5, 3)

    torch.testing.assert_close(again(*inputs), module(*inputs))


def test_dependence_is_searched_as_far_as_is_asked() -> None:
    graph = engine.Graph()
    first = node = graph.placeholder("x")
    for _ in range(4):
        node = graph.call_function(torch.relu, (node,))
    other = graph.placeholder("y")

    assert ours.may_depend_on(node, first, 4)
    assert not ours.may_depend_on(node, other, 5)
    assert ours.may_depend_on(node, other, 2)
    assert not ours.are_nodes_independent([first, node])
    assert ours.are_nodes_independent([first, other])


def test_a_product_is_split_as_its_operands_were_stacked() -> None:
    operands = [torch.ones(2, 3), torch.ones(1, 3)]
    stacked = torch.arange(12.0).reshape(3, 4)

    first, second = ours.split_result_tensors(stacked, operands)

    assert torch.equal(first, stacked[:2])
    assert torch.equal(second, stacked[2:])
