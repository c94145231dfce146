"""Functional calls become in-place ones where torch.fx makes them so, and soundly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.reinplace import reinplace as torch_reinplace

from fxls import engine as fx
from fxls.engine.passes.reinplace import reinplace
from fxls.engine.torch_fx.bridge import from_torch_fx
from tests.engine.same import assert_same

aten: Any = torch.ops.aten


def chain(x: Any) -> Any:
    return x.clone().add(1).mul(2)


def fill_diagonal(x: Any) -> Any:
    a = x.clone()
    a.diagonal().fill_(0)
    return a


def write_rows_and_columns(x: Any) -> Any:
    a = x.clone()
    a[0] = x[1]
    a[:, 1:3].add_(1)
    return a.sum()


def used_again(x: Any) -> Any:
    a = x.clone()
    return a + a.add(1)


def a_view_is_returned(x: Any) -> Any:
    a = x + 1
    return a.add(a.ge(2)), a[0]


def part_of_a_split(x: Any) -> Any:
    a: Any = torch.zeros(4, 4)
    a.view(-1)[3:5].add_(1)
    a.split(2)[0].mul_(2)
    return a + x


def overlapping_memory(x: Any) -> Any:
    return x.add(1).expand(2, 4, 4).add(1), torch.ones(1).expand(4, 4).add(1)


def copy_into_a_view(x: Any) -> Any:
    a = x.clone()
    a[:, :2].copy_(x[:, :2] * 2)
    a.relu_()
    return a.t().mul(3)


def the_same_value_twice(x: Any) -> Any:
    a = x.clone()
    return aten.mul(a, a)


PROGRAMS: list[Callable[[Any], Any]] = [
    chain,
    fill_diagonal,
    write_rows_and_columns,
    used_again,
    a_view_is_returned,
    part_of_a_split,
    overlapping_memory,
    copy_into_a_view,
    the_same_value_twice,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_graphs_become_those_of_torch_fx(program: Callable[[Any], Any]) -> None:
    x = torch.arange(16.0).reshape(4, 4) - 7
    theirs = make_fx(functionalize(program))(x)
    ours = from_torch_fx(theirs)

    assert reinplace(ours, x) is ours
    torch_reinplace(theirs, x)

    assert str(ours.graph) == str(theirs.graph)
    ours.graph.lint()
    before = x.clone()
    assert_same(ours(x), program(before))
    assert_same(x, before)


def test_a_parameter_is_never_overwritten() -> None:
    graph = fx.Graph()
    weight = graph.get_attr("weight")
    graph.output(graph.call_function(aten.add.Tensor, (weight, 1)))
    module = fx.GraphModule({"weight": torch.nn.Parameter(torch.ones(2))}, graph)

    reinplace(module)

    assert module().tolist() == module().tolist() == [2, 2]


def test_what_is_inserted_has_the_origin_of_what_it_stands_for() -> None:
    def program(x: Any) -> Any:
        base = aten.add.Tensor(x, 1)
        return aten.select_scatter.default(base, x[1], 0, 0)

    module = fx.symbolic_trace(program)
    scatter = module.graph.find_nodes(
        op="call_function", target=aten.select_scatter.default
    )[0]
    module.graph.find_nodes(op="call_function", target=torch.Tensor.__getitem__)
    origin = scatter.origin
    getitem = next(n for n in module.graph.nodes if n.name == "getitem")
    getitem.target, getitem.args = aten.select.int, (getitem.args[0], 0, 1)

    reinplace(module, torch.ones(2, 2))

    made = [n for n in module.graph.nodes if n.name in ("select_int", "copy__default")]
    assert [node.origin for node in made] == [origin, origin]
    assert module(torch.tensor([[1.0], [5.0]])).tolist() == [[5], [6]]
