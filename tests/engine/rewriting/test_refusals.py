"""What cannot be replaced is refused, and everything stays as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fxls.engine._symbolic_trace import symbolic_trace
from fxls.engine.graph import Graph
from fxls.engine.subgraph_rewriter import (
    replace_pattern,
    replace_pattern_with_filters,
)
from tests.engine.rewriting.oracle import Traced, assert_refused_alike, described


def program(x: Any, y: Any) -> Any:
    return torch.relu(x) + torch.relu(y) * torch.neg(x)


def relu(x: Any) -> Any:
    return torch.relu(x)


def sigmoid(x: Any) -> Any:
    return torch.sigmoid(x)


def test_no_replacement() -> None:
    error = assert_refused_alike(program, relu)
    assert str(error) == (
        "nothing to put in place of the pattern: give a replacement or a"
        " replacement_callback"
    )


def test_another_number_of_inputs() -> None:
    error = assert_refused_alike(program, relu, lambda x, y: x + y)
    assert str(error) == (
        "the replacement takes 2 inputs (x, y) and the pattern 1: they must be the same,"
        " also where one is not used"
    )


def test_another_number_of_results() -> None:
    error = assert_refused_alike(program, relu, lambda x: (x, x))
    assert str(error) == (
        "the replacement returns 2 values and the pattern 1 (relu): they must be the same"
    )


def test_a_replacement_without_a_value() -> None:
    error = assert_refused_alike(program, relu, lambda x: None)
    assert str(error) == (
        "the replacement returns None, which no node gives: it has to return a value for"
        " each result of the pattern"
    )


def test_a_pattern_without_nodes() -> None:
    gm = symbolic_trace(program)
    with pytest.raises(ValueError, match="an empty pattern matches nothing"):
        replace_pattern_with_filters(gm, Graph(), relu)


def test_a_pattern_with_dead_code() -> None:
    def pattern(x: Any) -> Any:
        torch.neg(x)
        return torch.relu(x)

    error = assert_refused_alike(program, pattern, relu)
    assert str(error) == (
        "the pattern has dead code, which cannot be matched: nothing uses %neg :"
        " [num_users=0] = call_function[target=torch.neg](args = (%x,), kwargs = {})"
    )


def test_a_pattern_with_an_input_that_it_does_not_use() -> None:
    error = assert_refused_alike(program, lambda x, y: torch.relu(x), lambda x, y: x)
    assert str(error).startswith("'y: the pattern does not use this placeholder")


def test_a_pattern_that_asserts_something_beside_its_result() -> None:
    def checked(x: Any) -> Any:
        check: Any = vars(torch)["_assert"]
        check(x, "is true")
        return torch.relu(x)

    error = assert_refused_alike(checked, checked, relu)
    assert str(error).startswith(
        "'_assert: the pattern does not use this call_function"
    )


def test_a_pattern_that_is_just_its_input() -> None:
    error = assert_refused_alike(program, lambda x: x, lambda x: torch.neg(x))
    assert str(error) == (
        "there is no place behind the match to insert the replacement: is the pattern"
        " just one of its inputs, or the graph without an output?"
    )


def test_a_pattern_that_is_no_function() -> None:
    nothing: Any = 5
    assert_refused_alike(program, nothing, relu)
    assert_refused_alike(program, relu, nothing)


def test_a_pattern_that_compares_an_attribute_that_is_no_tensor() -> None:
    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return torch.neg(x)

    def given(x: Any) -> Any:
        return x

    gm = symbolic_trace(Reads())
    gm.add_submodule("held", nn.ReLU())
    with gm.graph.inserting_before(next(iter(gm.graph.nodes)).next):
        held = gm.graph.get_attr("held")
    gm.graph.output_node().args = ((gm.graph.output_node().args[0], held),)
    pattern = Graph(owning_module=gm)
    pattern.output(pattern.get_attr("held"))
    with pytest.raises(RuntimeError, match="Unsupported type ReLU: attribute 'held'"):
        replace_pattern_with_filters(gm, pattern, given)


def test_a_module_that_lacks_what_its_graph_names() -> None:
    class Replacement(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.kept = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.kept(self.linear(x))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unused = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return torch.relu(x)

    replacement = symbolic_trace(Replacement())
    replacement.delete_submodule("linear")
    gm = symbolic_trace(Net())
    gm.add_submodule("unused", nn.ReLU())
    before = described(gm)
    with pytest.raises(RuntimeError, match=r"target linear references nonexistent"):
        replace_pattern(gm, relu, replacement)
    assert described(gm) == before


def test_a_module_whose_member_cannot_be_copied() -> None:
    class Stubborn(nn.Module):
        def __deepcopy__(self, memo: Any) -> Any:
            raise NotImplementedError("not this one")

        def forward(self, x: Any) -> Any:
            return x

    class Replacement(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.scale = nn.Parameter(torch.ones(2))
            self.stubborn: Any = Stubborn()

        def forward(self, x: Any) -> Any:
            return self.stubborn(self.linear(x) * self.scale)

    class Leaves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.ModuleDict({"unused": nn.ReLU(), "used": nn.ReLU()})

        def forward(self, x: Any) -> Any:
            return torch.relu(self.inner["used"](x))

    gm = symbolic_trace(Leaves())
    gm.add_submodule("inner.unused", nn.ReLU())
    Stubborn.__module__ = "torch.nn.stubborn"  # a leaf, so that the graph calls it
    before = described(gm)
    with pytest.raises(NotImplementedError, match="not this one"):
        replace_pattern(gm, relu, Replacement())
    assert described(gm) == before


def test_a_callback_that_fails_at_the_second_match() -> None:
    def fails_later(match: Any, graph: Any, pattern: Any) -> Any:
        if "relu_1" in str(match.nodes_map.values()):
            raise LookupError("no replacement for this one")
        made = type(graph)()
        made.output(made.call_function(torch.sigmoid, (made.placeholder("x"),)))
        return made

    error = assert_refused_alike(
        program, Traced(relu), None, replacement_callback=fails_later
    )
    assert str(error) == "no replacement for this one"


def test_a_filter_that_fails() -> None:
    def fails(match: Any, graph: Any, pattern: Any) -> bool:
        raise LookupError("no answer")

    assert_refused_alike(program, relu, lambda x: x, match_filters=[fails])


def test_a_hook_that_fails_while_nodes_are_erased() -> None:
    gm = symbolic_trace(program)
    before = described(gm)
    seen: list[str] = []

    def fails(node: Any) -> None:
        seen.append(node.name)
        if len(seen) == 2:
            raise LookupError(node.name)

    gm._register_erase_node_hook(fails)  # pyright: ignore[reportPrivateUsage]  # as FX calls it
    with pytest.raises(LookupError, match="relu_1"):
        replace_pattern(gm, relu, sigmoid)
    gm._unregister_erase_node_hook(fails)  # pyright: ignore[reportPrivateUsage]  # as FX calls it
    assert described(gm) == before
