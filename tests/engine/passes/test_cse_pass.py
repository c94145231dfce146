"""What a graph computes twice is computed once, unless that would be seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
from torch.fx.passes.dialect.common.cse_pass import CSEPass as TorchCSEPass

from fxls import engine as fx
from fxls.engine.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from tests.engine.same import assert_same
from tests.engine.zoo import Example, examples

aten: Any = torch.ops.aten
_torch: Any = torch

zoo = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def without_twins(
    program: Callable[[Any], Any], **settings: Any
) -> tuple[bool, list[str]]:
    """Whether the pass changed the program, and the names of the calls that are left."""
    module = fx.symbolic_trace(program)
    result = CSEPass(**settings)(module)
    assert result is not None
    graph: Any = result.graph_module.graph
    assert (result.graph_module is module) == (not result.modified)
    calls = [n.name for n in graph.nodes if n.op not in ("placeholder", "output")]
    return result.modified, calls


@zoo
def test_the_result_of_a_module_stays(example: Example) -> None:
    module = fx.symbolic_trace(example.make())
    before = str(module.graph)
    result = CSEPass()(module)

    assert result is not None
    assert str(module.graph) == before
    _torch.manual_seed(0)
    expected = module(*example.inputs())
    _torch.manual_seed(0)
    assert_same(result.graph_module(*example.inputs()), expected)


PROGRAMS: list[Callable[[Any], Any]] = [
    lambda x: (x.cos() + x.cos()) * torch.relu(x) + torch.relu(x),
    lambda x: x.sum([0, 1]) + x.sum([0, 1]) + x.sum((0, 1)),
    lambda x: torch.cat([x, x], dim=1) + torch.cat([x, x], dim=1),
    lambda x: (x + 1) * (1 + x),
    lambda x: x.neg(),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_functional_graphs_become_those_of_torch_fx(
    program: Callable[[Any], Any],
) -> None:
    ours = CSEPass()(fx.symbolic_trace(program))
    traced: Any = torch.fx.symbolic_trace(program)
    theirs: Any = TorchCSEPass()(traced)

    assert ours is not None
    assert ours.modified == theirs.modified
    graph: Any = ours.graph_module.graph
    assert str(graph) == str(theirs.graph_module.graph)


def test_equal_numbers_of_different_types_are_different() -> None:
    assert without_twins(lambda x: (x + 1, x + 1.0, x + True, x + 1)) == (
        True,
        ["add", "add_1", "add_2"],
    )
    assert without_twins(lambda x: (x * 0.0, x * -0.0)) == (False, ["mul", "mul_1"])


def test_nothing_is_taken_from_before_a_change() -> None:
    def program(x: Any) -> Any:
        before = x + 1
        x.add_(2)
        return before, x + 1, x + 1

    assert without_twins(program) == (True, ["add", "add_", "add_1"])


def test_calls_for_their_effect_and_random_numbers_stay() -> None:
    def program(x: Any) -> Any:
        _torch._assert(x.shape[0] > 1, "more")
        _torch._assert(x.shape[0] > 1, "more")
        return aten.rand_like(x), aten.rand_like(x)

    modified, calls = without_twins(program, banned_ops=get_CSE_banned_ops())

    assert modified
    assert calls.count("_assert") + calls.count("_assert_1") == 2
    assert [name for name in calls if "rand" in name] == ["rand_like", "rand_like_1"]


def test_banned_operators_stay() -> None:
    def twins(x: Any) -> Any:
        return aten.relu(x) + aten.relu(x)

    assert without_twins(twins) == (True, ["relu", "add"])
    assert without_twins(twins, banned_ops=[aten.relu]) == (
        False,
        ["relu", "relu_1", "add"],
    )


def test_a_node_that_is_left_has_the_origins_of_all_it_stands_for() -> None:
    def program(x: Any) -> Any:
        first = torch.relu(x)
        second = torch.relu(x)
        return first + second

    result = CSEPass()(fx.symbolic_trace(program))
    assert result is not None
    graph: Any = result.graph_module.graph
    (relu,) = graph.find_nodes(op="call_function", target=torch.relu)

    start = program.__code__.co_firstlineno
    lines = [origin.places[0].span.start.line for origin in relu.origins]
    assert lines == [start, start + 1]


def test_slices_are_compared_which_torch_fx_cannot() -> None:
    assert without_twins(lambda x: x[0:2] + x[0:2] + x[0:1]) == (
        True,
        ["getitem", "add", "getitem_2", "add_1"],
    )


def test_a_value_without_a_hash_is_compared_by_identity() -> None:
    class Unhashable:
        __hash__ = None  # pyright: ignore[reportAssignmentType]  # the point

    one, other = Unhashable(), Unhashable()
    graph = fx.Graph()
    x = graph.placeholder("x")
    calls = [graph.call_function(torch.add, (x, a)) for a in (one, one, other)]
    graph.output(calls)
    result = CSEPass()(fx.GraphModule({}, graph))

    assert result is not None
    left: Any = result.graph_module.graph
    assert str(left.output_node().args[0]) == "[add, add, add_2]"
