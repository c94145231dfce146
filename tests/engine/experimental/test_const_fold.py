"""What depends on no input is computed once, before the first run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.fx.experimental.const_fold import (
    split_const_subgraphs as torch_split_const_subgraphs,
)

from fxls import engine as fx
from fxls.engine.experimental.const_fold import (
    FoldedGraphModule,
    get_unique_attr_name_in_module,
    split_const_subgraphs,
)
from tests.engine.same import assert_same

_torch: Any = torch


class Model(torch.nn.Module):
    """A module whose forward is `program(self, x)`."""

    def __init__(self, program: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        _torch.manual_seed(0)
        self.a = torch.nn.Parameter(torch.randn(3))
        self.b = torch.nn.Parameter(torch.randn(3))
        self.outer = torch.nn.Linear(3, 3)
        self.inner = torch.nn.Linear(3, 3)
        self._program = program

    def forward(self, x: Any) -> Any:
        return self._program(self, x)


def one_result(self: Any, x: Any) -> Any:
    return self.outer(x) * (self.a + self.b) - self.a


def two_results(self: Any, x: Any) -> Any:
    total = self.a + self.b
    scale = torch.relu(total) * 2
    return self.outer(x) * scale - self.a + self.inner(total).sigmoid() + scale


def all_constant(self: Any, _x: Any) -> Any:
    return (self.a + self.b).sum()


def parts_of_a_constant(self: Any, x: Any) -> Any:
    first, second, _ = torch.split(self.a + self.b, 1)
    return {"k": x + first, "b": [second, self.b]}


def nothing_constant(self: Any, x: Any) -> Any:
    return x * self.a


def opcodes(module: Any) -> list[tuple[str, str, str]]:
    """The nodes without the numbers in their names: torch.fx hands those out anew."""
    return [
        (node.op, str(node.target), node.name.rstrip("0123456789_"))
        for node in module.graph.nodes
    ]


PROGRAMS = [
    one_result,
    two_results,
    all_constant,
    parts_of_a_constant,
    nothing_constant,
]


@pytest.mark.filterwarnings("ignore:Attempted to insert:UserWarning")  # of torch.fx
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_a_module_is_folded_as_by_torch_fx(program: Callable[[Any, Any], Any]) -> None:
    model = Model(program)
    ours = split_const_subgraphs(model)
    theirs: Any = torch_split_const_subgraphs(model)
    x = torch.ones(3)

    assert opcodes(ours) == opcodes(theirs)
    inner, expected = ours.const_subgraph_module, theirs.const_subgraph_module
    assert (inner and opcodes(inner)) == (expected and opcodes(expected))
    ours.graph.lint()
    assert_same(ours(x), model(x))
    assert_same(ours(x), theirs(x))
    names = [name for name, _ in ours.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in theirs.named_parameters())


_calls: list[int] = []


def counted(value: Any) -> Any:
    _calls.append(1)
    return value * 2


def test_constants_are_computed_once() -> None:
    _calls.clear()
    graph = fx.Graph()
    x = graph.placeholder("x")
    doubled = graph.call_function(counted, (graph.get_attr("a"),))
    graph.output(graph.call_function(torch.add, (x, doubled)))
    module = fx.GraphModule({"a": torch.ones(2)}, graph)
    folded = split_const_subgraphs(module)

    assert [folded(torch.ones(2)).tolist() for _ in range(3)] == [[3, 3]] * 3
    assert _calls == [1]
    assert not hasattr(module, "_FX_CONST_FOLDED_ATTRS")
    with pytest.raises(AssertionError, match="folded already"):
        folded.run_folding()


def test_a_node_may_be_left_as_it_is() -> None:
    model = Model(two_results)

    def skips(node: fx.Node) -> bool:
        return node.target is torch.relu

    folded = split_const_subgraphs(model, skip_folding_node_fn=skips)

    assert "relu" in str(folded.graph)
    assert_same(folded(torch.ones(3)), model(torch.ones(3)))


def test_what_does_more_than_give_a_value_stays() -> None:
    def checked(self: Any, x: Any) -> Any:
        _torch._assert(self.a.sum() == self.a.sum(), "finite")
        return x + 1

    folded = split_const_subgraphs(Model(checked))

    assert "_assert" in str(folded.graph)


def test_what_nobody_uses_stays_where_somebody_says_that_it_does_something() -> None:
    def unused(self: Any, x: Any) -> Any:
        torch.relu(x)
        return x + (self.a + self.b)

    def is_relu(node: fx.Node) -> bool:
        return node.target is torch.relu or node.is_impure()

    without = split_const_subgraphs(Model(unused))
    kept = split_const_subgraphs(Model(unused), is_impure_node=is_relu)
    assert ("relu" in str(without.graph), "relu" in str(kept.graph)) == (False, True)


def test_a_folded_value_has_the_origins_of_what_computes_it() -> None:
    folded = split_const_subgraphs(Model(two_results))
    (attribute,) = [n for n in folded.graph.nodes if "folded" in n.name]
    first = two_results.__code__.co_firstlineno

    assert {o.places[0].span.start.line for o in attribute.origins} == {
        first,
        first + 1,
        first + 2,
    }


def test_a_name_is_made_unique() -> None:
    module = fx.symbolic_trace(Model(one_result))

    assert get_unique_attr_name_in_module(module, "free") == "free"
    assert get_unique_attr_name_in_module(module, "a") == "a_1"
    module.a_1 = module.a_2 = nn.Identity()
    assert get_unique_attr_name_in_module(module, "a") == "a_3"
    assert get_unique_attr_name_in_module(module, "1 x.y") == "_1_x_y"


def test_a_graph_without_constants_is_taken_as_it_is() -> None:
    module = fx.symbolic_trace(Model(nothing_constant))
    folded = split_const_subgraphs(module)

    assert isinstance(folded, FoldedGraphModule)
    assert folded.const_subgraph_module is None
    assert folded.code == module.code
